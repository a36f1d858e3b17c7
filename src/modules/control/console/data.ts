import type { GatewayView, LocationFacts, LocationView, RouteQuery } from '../../../contract/index.ts';
import { type Exchange, parseHost } from '../../../http/index.ts';
import type { Dictionary } from '../../../zone/index.ts';
import { ControlFault, type Query, readQuery, required, type Surface } from '../endpoint.ts';
import { decodeFlag, encodeFlag, readFlagName, readFlagSettings } from '../flags.ts';
import type { ControlConfig } from '../resources.ts';
import { CacheList } from './caches.ts';
import { clusterPage } from './clusters.ts';
import { DATA_PATHS, type FlagChange, type FlagPage, type RouteMatch, type RouteTree } from './contract.ts';
import { type FeedQuery, Feeds } from './feed.ts';
import type { ConsoleResources } from './history.ts';
import { compileOverview, type OverviewQuery } from './overview.ts';
import { type Range, RANGES, SHORTEST_RANGE } from './ranges.ts';
import { MOST_TRIAL_BYTES, TrialDesk } from './trials.ts';
import { UpstreamTable } from './upstreams.ts';

const MAX_FLAGS = 1_000;

/** The flags of the configuration's dictionary, as the console shows and changes them. */
class FlagTable {
  readonly #config: ControlConfig;
  readonly #dictionary: Dictionary | undefined;

  constructor(config: ControlConfig, dictionaries: ReadonlyMap<string, Dictionary>) {
    this.#config = config;
    this.#dictionary = dictionaries.get(config.flagsZone);
  }

  page(): FlagPage {
    const { flagsZone, flags = [] } = this.#config;
    const entries = this.#dictionary?.list(MAX_FLAGS) ?? [];
    return {
      dictionaries: this.#dictionary ? [flagsZone] : [],
      flags: entries
        .flatMap(({ key, value, ttlMs }) => {
          const flag = decodeFlag(value);
          return flag ? [{ name: key, ...flag, ttlS: Math.ceil(ttlMs / 1000) }] : [];
        })
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      variables: flags.map(({ variable, flag }) => ({ variable, flag })),
    };
  }

  /** Applies a change. Throws a `ControlFault` if it is invalid, and faults of the dictionary. */
  change(body: unknown): FlagPage {
    const dictionary = this.#dictionary;
    if (!dictionary)
      throw new ControlFault(409, `there is no dictionary "${this.#config.flagsZone}" for flags`);
    const change = readChange(body);
    if ('unset' in change) dictionary.delete(change.unset);
    else {
      const { name, ttlS, ...flag } = change.set;
      dictionary.set(name, encodeFlag(flag), ttlS * 1000);
    }
    return this.page();
  }
}

/** Reads a change under the rules of `flag/set`, with the same messages. */
function readChange(body: unknown): FlagChange {
  const { set, unset } = (body ?? {}) as { set?: Readonly<Record<string, unknown>>; unset?: unknown };
  if (typeof unset === 'string') return { unset: readFlagName(new Map([['name', unset]])) };
  if (typeof set !== 'object' || set === null) throw new ControlFault(400, 'expected "set" or "unset"');
  const { name, enabled, rolloutPct, ttlS } = set;
  const fields = { name, enabled, rollout_pct: rolloutPct, ttl_s: ttlS };
  const query = Object.entries(fields).flatMap(([field, value]) =>
    value === undefined ? [] : [[field, typeof value === 'string' ? value : JSON.stringify(value)] as const],
  );
  return { set: readFlagSettings(new Map(query)) };
}

/** Returns a location and all nested ones. */
function* eachRoute(route: LocationView): Generator<LocationView> {
  yield route;
  for (const inner of route.locations) yield* eachRoute(inner);
}

/** Returns servers and locations. `own` is the server of the console's location, which its place identifies. */
function routeTree({ servers }: GatewayView, { place }: LocationFacts): RouteTree {
  const isOwn = ({ root }: RouteTree['servers'][number]): boolean =>
    [...eachRoute(root)].some((route) => route.place === place);
  return { servers, own: servers.find(isOwn)?.label ?? '' };
}

/** Returns the location that serves a URL: an absolute one, or a path at the address of the console. */
function explainUrl(url: string, { view, x }: { view: GatewayView; x: Exchange }): RouteMatch {
  return view.explain(url.startsWith('/') ? { ...ownAddress(x), path: pathOf(url) } : absolute(url));
}

function ownAddress({ request: { port, host } }: Exchange): Omit<RouteQuery, 'path'> {
  return { port: port.port, host };
}

/** Splits a URL by hand, since a URL object would normalize the path. */
function absolute(url: string): RouteQuery {
  const [, authority, rest = ''] = /^http:\/\/([^/?#]*)(.*)$/is.exec(url) ?? [];
  if (authority === undefined) throw new ControlFault(400, 'a URL starts with http:// or /');
  const host = parseHost(authority);
  if (host === undefined) throw new ControlFault(400, `"${authority}" is no host`);
  const [, port = '80'] = /:(\d+)$/.exec(authority) ?? [];
  return { host, port: Number(port), path: pathOf(rest.startsWith('/') ? rest : `/${rest}`) };
}

function pathOf(target: string): string {
  return target.replace(/[?#].*$/s, '');
}

const MAX_BODY_BYTES = 16 * 1024;

/** Returns the JSON of the response; `undefined` if the client has gone or the request was refused already. */
type Read = (x: Exchange, query: Query) => unknown;

/** Compiles the handler for all paths below the page. It throws a `ControlFault` for requests that it cannot serve. */
export function compileData(
  surface: Surface,
  resources: ConsoleResources,
): (path: string, x: Exchange) => Promise<void> {
  const rows = dataRows(surface, resources);
  return async (path, x) => {
    const row = rows.get(path);
    if (!row) throw new ControlFault(404, 'nothing is here');
    const isRead = x.method === 'GET' || x.method === 'HEAD';
    if (!isRead && !(x.method === 'POST' && row.write)) {
      x.response.setHeader('Allow', row.write ? 'GET, HEAD, POST' : 'GET, HEAD');
      throw new ControlFault(405, 'method not allowed');
    }
    const page = isRead ? await row.read(x, readQuery(x.args)) : await write(x, row);
    if (page !== undefined) x.send(200, 'application/json', JSON.stringify(page));
  };
}

interface Row {
  readonly read: Read;
  readonly write?: (body: unknown, x: Exchange) => unknown;
  /** Longest body of a write. */
  readonly mostBytes?: number;
}

function dataRows(
  surface: Surface,
  { history, peerTimes, text }: ConsoleResources,
): ReadonlyMap<string, Row> {
  const { config, build, resources } = surface;
  const { worker, dictionaries } = resources;
  const trials = new TrialDesk(surface);
  const overview = compileOverview(worker, history);
  const flags = new FlagTable(config, dictionaries);
  const upstreams = new UpstreamTable(worker, peerTimes);
  const caches = new CacheList(worker, build.core);
  let opened: Feeds | undefined;
  // The view is not complete before the first request.
  const feeds = (): Feeds => (opened ??= new Feeds(worker));
  return new Map<string, Row>([
    [DATA_PATHS.overview, { read: (_x, query) => overview(readOverview(query)) }],
    [DATA_PATHS.routes, { read: () => routeTree(worker.view, build.location) }],
    [
      DATA_PATHS.explain,
      { read: (x, query) => explainUrl(required(query, 'url'), { view: worker.view, x }) },
    ],
    [DATA_PATHS.config, { read: () => text }],
    [DATA_PATHS.events, { read: (x, query) => feeds().events(query.get('zone') ?? '', readFeed(query), x) }],
    [DATA_PATHS.log, { read: (x, query) => feeds().log(readFeed(query), x) }],
    [DATA_PATHS.upstreams, { read: () => upstreams.page(), write: (body) => upstreams.change(body) }],
    [DATA_PATHS.caches, { read: () => caches.page(), write: (body) => caches.purge(body) }],
    [DATA_PATHS.clusters, { read: () => clusterPage(worker) }],
    [
      DATA_PATHS.apis,
      {
        read: (_x, query) => trials.page(query),
        write: (body, x) => trials.try(body, x),
        mostBytes: MOST_TRIAL_BYTES,
      },
    ],
    [DATA_PATHS.flags, { read: () => flags.page(), write: (body) => flags.change(body) }],
  ]);
}

async function write(x: Exchange, row: Row): Promise<unknown> {
  const body = await x.readBody(row.mostBytes ?? MAX_BODY_BYTES);
  if (!body) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString());
  } catch {
    throw new ControlFault(400, 'the body is not valid JSON');
  }
  return row.write?.(parsed, x);
}

function readFeed(query: Query): FeedQuery {
  return { since: readCount(query, 'since'), wait: query.get('wait') === '1' };
}

function readOverview(query: Query): OverviewQuery {
  return { range: readRange(query), sinceMs: readCount(query, 'since') };
}

function readRange(query: Query): Range {
  const name = query.get('range') || SHORTEST_RANGE.name;
  const range = RANGES.find((each) => each.name === name);
  if (range) return range;
  const names = RANGES.map((each) => each.name).join(', ');
  throw new ControlFault(400, `invalid query param: range must be one of ${names}`);
}

function readCount(query: Query, name: string): number {
  const value = query.get(name) || '0';
  if (!/^\d{1,15}$/.test(value)) throw new ControlFault(400, `invalid query param: ${name} must be a number`);
  return Number(value);
}
