import type { HandshakeHandlers, LocationMatch, PairPaths } from '../contract/index.ts';
import {
  compileRegex,
  encodePath,
  type Exchange,
  type Handler,
  HttpFault,
  meetLimit,
  type NewConnection,
  type Rehearsed,
  type Router,
  stateKey,
  type SubrequestFacts,
  subrequestOf,
  unsentRequest,
} from '../http/index.ts';
import type { LocationPlan, ServerPlan } from '../plan/index.ts';
import { type Captures, capturesOf, keepCaptures } from './captures.ts';
import { LocationLevel, type LocationEntry } from './location-tree.ts';
import {
  compileLocation,
  factsOf,
  type LocationContext,
  type LocationHandler,
  noSharedHandlers,
} from './location.ts';
import { formatsErrors } from './location-rules.ts';
import { compileOrigins } from './origins.ts';
import {
  AFTER_REWRITE,
  beginLocationRewrite,
  beginRewritePhase,
  enter,
  isOver,
  respondingToFailures,
  settleRewritePhase,
} from './phases.ts';

/** Returns the handler for a location's path without its final slash: a 301 to the location, with the query. */
function slashRedirect(location: LocationHandler): LocationHandler {
  return {
    ...location,
    internal: false,
    postRead: undefined,
    rewrite: undefined,
    except: undefined,
    access: undefined,
    respond: (x) => x.redirect(301, `${encodePath(x.uri)}/${x.args === '' ? '' : `?${x.args}`}`),
  };
}

/** A location in the tree: its handler, and the slots of its regex's named captures. */
interface Target {
  readonly plan: LocationPlan;
  readonly handler: LocationHandler;
  readonly captures: Captures;
}

/** nginx's limits of internal redirects per request, and of nested subrequests. */
const MAX_INTERNAL_REDIRECTS = 10;
const MAX_SUBREQUEST_DEPTH = 50;
const DEPTH = stateKey<number>('depth of a subrequest');
/** Most subrequests that a request's subrequests make. With two in each, the depth alone would allow 2^50. */
const MAX_NESTED_SUBREQUESTS = 2_000;
const NESTED = stateKey<number>('subrequests of subrequests');

/** The values that all servers of one compile share. */
export type ServerContext = Omit<LocationContext, 'router' | 'serverNames' | 'origins' | 'shared'>;

/** How the requests of a port get to a server. */
export interface PortServing {
  /** Assigns a refused request to its host's server: the response has that server's headers and error pages. */
  readonly enter: (x: Exchange) => void;
  readonly serve: Handler;
}

/** What a server does for handshakes, by connection; absent members cost nothing. */
export interface HandshakeParts {
  /** Returns the names of the pairs to read for a connection. Absent: the plan has all pairs. */
  readonly pairs?: ((connection: NewConnection) => readonly PairPaths[]) | undefined;
  /** Waits until there is a pair for a connection; `undefined`: nothing is to come. */
  readonly awaitPairs?: ((connection: NewConnection) => Promise<void> | undefined) | undefined;
  readonly challengePair?: HandshakeHandlers['challengePair'] | undefined;
  readonly orderedPair?: HandshakeHandlers['orderedPair'] | undefined;
}

/** One virtual server. It runs its rewrites, finds locations and routes internal redirects. */
export class ServerHandler implements Router {
  readonly name: string;
  readonly mergeSlashes: boolean;
  readonly #context: LocationContext;
  readonly #locations = new LocationLevel<Target>();
  readonly #named = new Map<string, Handler>();
  #root!: LocationHandler;

  private constructor(plan: ServerPlan, context: ServerContext) {
    this.name = plan.name;
    this.mergeSlashes = plan.root.core.mergeSlashes;
    this.#context = {
      ...context,
      router: this,
      serverNames: plan.names,
      origins: compileOrigins(plan, context),
      shared: noSharedHandlers(),
    };
  }

  static async compile(plan: ServerPlan, context: ServerContext): Promise<ServerHandler> {
    const server = new ServerHandler(plan, context);
    server.#root = await compileLocation(plan.root, server.#context);
    await server.#addAll(server.#locations, plan.root.locations);
    for (const location of plan.named) {
      const { handler } = await server.#target(location);
      server.#named.set((location.match as { name: string }).name, (x) => server.#enter(handler, x));
    }
    return server;
  }

  /** The rules of responses that are sent before a location is chosen. */
  get rules(): LocationHandler['rules'] {
    return this.#root.rules;
  }

  /** What modules do for the handshakes of new connections. */
  get handshakes(): HandshakeParts {
    const { handshakes, rules } = this.#root;
    const { pairs, awaitPairs, challengePair, orderedPair } = handshakes;
    const begun = (connection: NewConnection): Exchange => {
      const x = unsentRequest(connection, rules);
      x.serverName = this.name;
      return x;
    };
    return {
      pairs: pairs && ((connection) => pairs(begun(connection))),
      awaitPairs: awaitPairs && ((connection) => awaitPairs(begun(connection))),
      challengePair,
      orderedPair,
    };
  }

  /**
   * Finds the location of a path (`undefined`: the server level), and the regex locations that matched, outermost
   * first.
   */
  locate(uri: string): { location: LocationPlan | undefined; regexes: readonly LocationPlan[] } {
    const found = this.#locations.find(uri);
    return { location: found?.target.plan, regexes: (found?.matches ?? []).map(({ target }) => target.plan) };
  }

  /** Serves a request of this server. */
  serve(x: Exchange): void | Promise<void> {
    this.enter(x);
    const { postRead } = this.#root;
    if (!postRead) return this.#rewrite(x);
    const round = x.internalRedirects;
    const waiting = postRead(x);
    if (waiting) return waiting.then(() => (isOver(x, round) ? undefined : this.#rewrite(x)));
    return isOver(x, round) ? undefined : this.#rewrite(x);
  }

  /** Serves every request of a port that has no other server. */
  get alone(): PortServing {
    return { enter: (x) => this.enterRefused(x), serve: (x) => this.serve(x) };
  }

  /** Assigns a request to this server without serving it. */
  enter(x: Exchange): void {
    enter(x, this.#root.rules);
    x.serverName = this.name;
  }

  /**
   * Assigns a request with a refused head to this server, as in nginx. If its location formats errors itself, the
   * request is assigned to the location: clients of an API expect no page.
   */
  enterRefused(x: Exchange): void {
    this.enter(x);
    this.#enterFormat(x);
  }

  /** As `enterRefused`, for a refused request line. No rules of the server apply (nginx). */
  enterByLine(x: Exchange): void {
    x.serverName = this.name;
    this.#enterFormat(x);
  }

  #enterFormat(x: Exchange): void {
    const rules = x.uri.startsWith('/') && this.#locations.find(x.uri)?.target.handler.rules;
    if (rules && formatsErrors(rules)) enter(x, rules);
  }

  toUri(x: Exchange, target: string): void | Promise<void> {
    const query = target.indexOf('?');
    if (query >= 0) x.args = target.slice(query + 1);
    return this.toPath(x, query < 0 ? target : target.slice(0, query));
  }

  toPath(x: Exchange, path: string): void | Promise<void> {
    x.uri = path;
    return this.#again(
      x,
      () => `internally redirecting to "${path}"`,
      (again) => {
        enter(again, this.#root.rules);
        return this.#rewrite(again);
      },
    );
  }

  toNamed(x: Exchange, name: string): void | Promise<void> {
    const handler = this.#named.get(name);
    const { isOriginalUri } = x;
    return this.#again(
      x,
      () => `redirect to named location "${name}"`,
      (again) => {
        // The URI has not changed (nginx: valid_unparsed_uri).
        again.isOriginalUri = isOriginalUri;
        if (!handler) throw new HttpFault(500, `could not find named location "${name}"`);
        return handler(again);
      },
    );
  }

  /** Searches a location again after the rewrite phase changed the URI. */
  #relocate(x: Exchange): void | Promise<void> {
    return this.#again(
      x,
      () => `processing "${x.uri}"`,
      (again) => this.#route(again),
    );
  }

  subrequest(parent: Exchange, facts: SubrequestFacts): Promise<Exchange> {
    return new Promise((resolve) => {
      const sub = subrequestOf(parent, facts, () => resolve(sub));
      const depth = (parent.state(DEPTH) ?? 0) + 1;
      sub.setState(DEPTH, depth);
      void respondingToFailures((x) => {
        const nested = depth > 1 ? countNested(x) : 0;
        if (nested > MAX_NESTED_SUBREQUESTS + 1) return endWithoutPage(x);
        if (depth > MAX_SUBREQUEST_DEPTH || nested > MAX_NESTED_SUBREQUESTS)
          throw new HttpFault(500, `subrequests cycle while processing "${x.uri}"`);
        enter(x, this.#root.rules);
        return facts.uri.startsWith('@') ? this.toNamed(x, facts.uri) : this.#rewrite(x);
      })(sub);
    });
  }

  async rehearse(x: Exchange): Promise<Rehearsed | undefined> {
    // Error pages are left to the request that contains this one.
    x.errorPagesEnded = true;
    if (await isStopped(x, this.#root, beginRewritePhase)) return undefined;
    for (let searches = 0; searches <= MAX_INTERNAL_REDIRECTS; searches++) {
      settleRewritePhase(x);
      const found = this.#locations.find(x.uri);
      if (!found) return undefined;
      for (const { target, captures } of found.matches) keepCaptures(x, captures, target.captures);
      const { plan, handler: location } = found.target;
      const handler = handlerFor(x, location);
      if (location.internal && !x.internal) return undefined;
      if (await isStopped(x, handler, beginLocationRewrite)) return undefined;
      if (x.rewritePhase?.relocates) {
        x.internal = true;
        continue;
      }
      await handler.access?.(x);
      const { servedBy } = x.state(AFTER_REWRITE) ?? handler;
      return x.done ? undefined : { ...factsOf(plan), servedBy };
    }
    return undefined;
  }

  /** `step` returns the text by which the log names the last of too many redirects. */
  #again(x: Exchange, step: () => string, serve: Handler): void | Promise<void> {
    x.internalRedirects++;
    x.internal = true;
    x.isOriginalUri = false;
    return respondingToFailures((again) => {
      if (again.internalRedirects <= MAX_INTERNAL_REDIRECTS) return serve(again);
      again.errorPagesEnded = true;
      throw new HttpFault(500, `rewrite or internal redirection cycle while ${step()}`);
    })(x);
  }

  /** Runs the rewrites of the server level, then continues with a location. */
  #rewrite(x: Exchange): void | Promise<void> {
    const { rewrite, needsPeer } = this.#root;
    if (!rewrite) return this.#route(x);
    if (needsPeer) x.wire.keepPeer();
    beginRewritePhase(x);
    const round = x.internalRedirects;
    const waiting = rewrite(x);
    if (waiting) return waiting.then(() => (isOver(x, round) ? undefined : this.#route(x)));
    return isOver(x, round) ? undefined : this.#route(x);
  }

  #route(x: Exchange): void | Promise<void> {
    settleRewritePhase(x);
    const found = this.#locations.find(x.uri);
    if (!found) {
      enter(x, this.#root.rules);
      if (this.#root.needsPeer) x.wire.keepPeer();
      this.#root.entering?.(x);
      return isTooLarge(x) ? x.refuseBody() : this.#root.respond(x);
    }
    for (const { target, captures } of found.matches) keepCaptures(x, captures, target.captures);
    return this.#enter(found.target.handler, x);
  }

  #enter(location: LocationHandler, x: Exchange): void | Promise<void> {
    const handler = handlerFor(x, location);
    const { rules, needsPeer, entering, rewrite } = handler;
    enter(x, rules);
    if (needsPeer) x.wire.keepPeer();
    entering?.(x);
    if (location.internal && !x.internal) return x.end(404);
    if (isTooLarge(x)) return x.refuseBody();
    if (!rewrite) return handler.respond(x);
    beginLocationRewrite(x);
    const round = x.internalRedirects;
    const waiting = rewrite(x);
    if (waiting) return waiting.then(() => (isOver(x, round) ? undefined : this.#goOn(x, handler.respond)));
    return isOver(x, round) ? undefined : this.#goOn(x, handler.respond);
  }

  /** Continues after the rewrite phase of a location. */
  #goOn(x: Exchange, respond: Handler): void | Promise<void> {
    return x.rewritePhase?.relocates ? this.#relocate(x) : (x.state(AFTER_REWRITE)?.respond ?? respond)(x);
  }

  async #addAll(level: LocationLevel<Target>, locations: readonly LocationPlan[]): Promise<void> {
    const slashless: [path: string, target: Target][] = [];
    for (const location of locations) {
      await this.#context.turns.take();
      const target = await this.#target(location);
      const path =
        target.handler.slashRedirect && location.match?.kind === 'prefix' ? location.match.path : '';
      if (path.length > 1 && path.endsWith('/')) slashless.push([path.slice(0, -1), target]);
      const inner = location.locations.length > 0 ? new LocationLevel<Target>() : undefined;
      if (inner) await this.#addAll(inner, location.locations);
      add(level, location.match as LocationMatch, { target, inner });
    }
    for (const [path, { plan, handler }] of slashless) {
      level.addSpareExact(path, {
        target: { plan, handler: slashRedirect(handler), captures: [] },
        inner: undefined,
      });
    }
  }

  async #target(location: LocationPlan): Promise<Target> {
    const handler = await compileLocation(location, this.#context);
    const { match } = location;
    return {
      plan: location,
      handler,
      captures: match?.kind === 'regex' ? capturesOf(match.regex, this.#context.variables) : [],
    };
  }
}

/** The handler for the method of a request: `limit_except` replaces that of its location. */
function handlerFor(x: Exchange, location: LocationHandler): LocationHandler {
  const { except } = location;
  if (!except) return location;
  meetLimit(x, except.methods);
  return except.methods.has(x.method) ? location : except.handler;
}

/** Runs the rewrite phase of a rehearsed request. Resolves to true if the request now has a response. */
async function isStopped(
  x: Exchange,
  { rules, rewrite }: LocationHandler,
  begin: (x: Exchange) => void,
): Promise<boolean> {
  enter(x, { ...rules, logs: [], filters: [], bodyFilters: [], errorPages: undefined });
  if (!rewrite) return false;
  begin(x);
  const round = x.internalRedirects;
  await rewrite(x);
  return isOver(x, round);
}

/**
 * True if the announced length of the body is too large. The request is then refused before its body is read, but the
 * error page for 413 is served.
 */
function isTooLarge({ request, rules, inErrorPage }: Exchange): boolean {
  return rules.maxBodyBytes > 0 && request.contentLength > rules.maxBodyBytes && !inErrorPage;
}

function add(level: LocationLevel<Target>, match: LocationMatch, entry: LocationEntry<Target>): void {
  if (match.kind === 'prefix') level.addPrefix(match.path, { ...entry, stop: match.stop });
  else if (match.kind === 'exact') level.addExact(match.path, entry);
  else if (match.kind === 'regex') level.addRegex({ ...entry, regex: compileRegex(match.regex) });
}

/** Counts a subrequest of a subrequest. Returns the number of them in the client's request. */
function countNested({ main }: Exchange): number {
  const nested = (main.state(NESTED) ?? 0) + 1;
  main.setState(NESTED, nested);
  return nested;
}

/** Refuses a subrequest beyond the limit. Only the first one over the limit is logged. */
function endWithoutPage(x: Exchange): void {
  x.errorPagesEnded = true;
  x.end(500);
}
