import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CompiledGateway, compileGateway, type PortHandler } from '../../compile/index.ts';
import { secretSpans } from '../../config/index.ts';
import { type ConnectionFacts, normalizePath } from '../../http/index.ts';
import { addressText, type PortPlan } from '../../plan/index.ts';
import type { Account } from './account.ts';
import { accountOf, notFound } from './assemble.ts';
import { choosePort, type ExplainedConfig, type AccountInput } from './server.ts';
import { Follower } from './follower.ts';
import { PlanBlocks, DirectiveText } from './plan-blocks.ts';
import { type ExplainQuery, readQuery, type ReadQuery, refusalBy } from './query.ts';
import { QuietScope } from './quiet-scope.ts';
import { Tracer } from './tracer.ts';
import { Veil } from './veil.ts';
import { ExplainedWire } from './explained-wire.ts';

/** Maximum number of open questions that are followed: each doubles the number of cases. */
const MAX_BRANCHES = 4;
/** Longest time that a handler may wait, for example for a slow password hash. */
const PATIENCE_MS = 5_000;

/**
 * Explains how a gateway with this configuration would handle a request. The compiled handlers run on a simulated
 * exchange: no port, connection or file is opened. A string gives the reason if there is no account.
 */
export async function explain(question: ExplainQuery, loaded: ExplainedConfig): Promise<Account | string> {
  const read = readQuery(question);
  if (typeof read === 'string') return read;
  const blocks = new PlanBlocks(loaded);
  const veil = new Veil(loaded, read);
  const texts = new DirectiveText(secretSpans(loaded.tree, loaded.registry), veil.values);
  const chosen = choosePort(read.destination, { plan: loaded.plan, blocks });
  if (typeof chosen === 'string') return notFound({ question, read, veil }, chosen);
  if (read.destination.scheme === 'https' && !chosen.port.ssl)
    return notFound(
      { question, read, veil },
      `${chosen.account.address} speaks no TLS: the handshake fails`,
      chosen,
    );
  const run = await Run.open({ question, loaded, blocks });
  if (typeof run === 'string') return run;
  try {
    const main = await run.trace({ read, port: chosen.port });
    const { directives } = run;
    const input: AccountInput = {
      question,
      read,
      chosen,
      blocks,
      texts,
      veil,
      loaded,
      directives,
    };
    const others = await branches(run, { main, read, port: chosen.port });
    return accountOf(main, others, input);
  } finally {
    await run.close();
  }
}

/** Traces the request again with one open question decided the other way. */
async function branches(
  run: Run,
  { main, read, port }: { readonly main: Tracer; readonly read: ReadQuery; readonly port: PortPlan },
): Promise<readonly Tracer[]> {
  const found: Tracer[] = [];
  for (const index of main.questions.slice(0, MAX_BRANCHES).keys()) {
    const before = main.questions.slice(0, index).map(({ taken }) => taken);
    found.push(await run.trace({ read, port, choices: [...before, 1] }));
  }
  return found;
}

interface Tracing {
  readonly read: ReadQuery;
  readonly port: PortPlan;
  readonly choices?: readonly (0 | 1)[];
}

/** A configuration compiled for tracing. */
class Run {
  readonly #compiled: CompiledGateway;
  readonly #follower: Follower;
  readonly #scope: QuietScope;

  private constructor(compiled: CompiledGateway, follower: Follower, scope: QuietScope) {
    this.#compiled = compiled;
    this.#follower = follower;
    this.#scope = scope;
  }

  static async open({
    question,
    loaded: { plan, modules },
    blocks,
  }: {
    readonly question: ExplainQuery;
    readonly loaded: ExplainedConfig;
    readonly blocks: PlanBlocks;
  }): Promise<Run | string> {
    const follower = new Follower(blocks);
    const log = { write: (...line: Parameters<Tracer['write']>) => follower.log.write(...line) };
    const scope = new QuietScope(plan, { log, live: question.live });
    const quiet = modules.map((module) => ({
      ...module,
      ...(module.explanation?.provision && { provision: module.explanation.provision as never }),
    }));
    try {
      return new Run(
        await compileGateway(plan, { modules: quiet, worker: scope, watch: follower }),
        follower,
        scope,
      );
    } catch (error) {
      await scope.close();
      return `the configuration cannot be compiled: ${(error as Error).message}`;
    }
  }

  get directives(): Follower['directives'] {
    return this.#follower.directives;
  }

  async trace({ read, port, choices = [] }: Tracing): Promise<Tracer> {
    const tracer = new Tracer(this.#follower.plans, choices);
    const handler = this.#compiled.ports.find(({ key }) => key === addressText(port.address)) as PortHandler;
    const uri = normalizePath(read.path, handler.head.mergeSlashes);
    const { facts, rules } = handler;
    const { method, requestUri, args, host, hostHeader, headers, contentLength } = read;
    const request = { method, requestUri, args, host, hostHeader, headers, contentLength };
    const wire = new ExplainedWire(
      {
        request: {
          ...request,
          uri: uri ?? read.path,
          serial: 1,
          port: facts,
          httpVersion: '1.1',
          connection: connectionOf(read, port, handler),
        },
        rules,
        peerAddress: port.address.kind === 'unix' ? 'unix:' : read.from,
        body: read.body,
      },
      tracer,
    );
    const { x } = wire;
    this.#follower.use(tracer, wire);
    const refusal = refusalBy(handler, read) ?? (uri === undefined ? MALFORMED : undefined);
    if (refusal) {
      tracer.refused(refusal.why);
      x.serverName = handler.serverName;
      x.end(refusal.status);
    }
    if (!refusal) await handler.serve(x);
    await patiently(wire.settled);
    x.finish();
    return tracer;
  }

  close(): Promise<void> {
    return this.#scope.close();
  }
}

async function patiently(settled: Promise<void>): Promise<void> {
  const overdue = new AbortController();
  const late = sleep(PATIENCE_MS, undefined, { signal: overdue.signal }).catch(() => undefined);
  await Promise.race([settled, late]);
  overdue.abort();
}

const MALFORMED = { status: 400, why: 'the path is malformed, or leads above the root' };

/** The simulated TLS connection, with the server name of the URL. Addresses are not server names (RFC 6066, 3). */
function connectionOf(
  { destination: { scheme, place } }: ReadQuery,
  { ssl }: PortPlan,
  { tls }: PortHandler,
): ConnectionFacts | undefined {
  if (!ssl || scheme !== 'https') return undefined;
  const none = '';
  const host = place && 'host' in place ? place.host : none;
  const serverName = isIP(host.replace(/^\[|\]$/g, '')) === 0 ? host : none;
  return {
    requests: 1,
    startedMs: Date.now(),
    isPipelined: false,
    proxyProtocol: undefined,
    tls: {
      protocol: 'TLSv1.3',
      cipher: none,
      ciphers: none,
      curve: none,
      curves: none,
      sessionId: none,
      sessionReused: false,
      serverName,
      alpnProtocol: 'http/1.1',
      namesServer: tls?.choose(serverName).namesServer ?? false,
      client: undefined,
    },
  };
}
