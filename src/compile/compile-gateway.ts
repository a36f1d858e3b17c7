import {
  type AnyModule,
  type GatewayView,
  type ListenAddress,
  type ServerName,
  TICKET_KEY,
  type WorkerScope,
} from '../contract/index.ts';
import type { Exchange, LogStep, PortFacts, ResponseRules } from '../http/index.ts';
import {
  addressText,
  canShakeHands,
  type GatewayPlan,
  type HeadLimits,
  type HeadRules,
  type Http2Rules,
  type PortPlan,
  type TlsPlan,
} from '../plan/index.ts';
import { LOG_TAIL, openRing } from '../zone/index.ts';
import type { CompileWatch, RequestNeeds } from './location-build.ts';
import { Matchers } from './captures.ts';
import { Turns } from './location.ts';
import { compileRequestTail, ErrorLogs } from './logs.ts';
import { respondingToFailures } from './phases.ts';
import { ServerNames, servingByName } from './server-names.ts';
import { type HandshakeParts, type PortServing, type ServerContext, ServerHandler } from './server.ts';
import { makeView, serverLabel } from './view.ts';

/** A compiled port: everything a transport needs to serve it. `serve` never throws and never rejects. */
export interface PortHandler extends PortServing {
  /** Identifies the address; the same before and after a reload. */
  readonly key: string;
  readonly address: ListenAddress;
  readonly facts: PortFacts;
  readonly engine: PortPlan['engine'];
  readonly proxyProtocol: boolean;
  /** Absent on ports without TLS. */
  readonly tls?: PortTls | undefined;
  readonly http2?: Http2Rules | undefined;
  /** The rules for heads until the server is known. */
  readonly head: HeadRules;
  readonly headLimits: HeadLimits;
  /** Returns the rules of a host's server; `undefined`: no server has the name. Absent if all rules are equal. */
  readonly headOf?: ((host: string) => HeadRules | undefined) | undefined;
  readonly needs: RequestNeeds;
  /** Shared by all ports of a configuration. */
  readonly usage: Usage;
  /** The default server's rules and name, for requests that are refused before a server is chosen. */
  readonly rules: ResponseRules;
  readonly serverName: string;
  /** Assigns a request with a refused request line to the default server: its host is not known. */
  readonly enterByLine: (x: Exchange) => void;
}

/** Counts the requests that a configuration still serves. */
interface Usage {
  /** Unfinished exchanges; those that finish within their handler are not counted. */
  inFlight: number;
}

/** A compiled configuration. */
export interface CompiledGateway {
  readonly ports: readonly PortHandler[];
  readonly usage: Usage;
  readonly view: GatewayView;
}

/** The inputs of a compile besides the plan. */
interface CompileOptions {
  readonly modules: readonly AnyModule[];
  readonly worker: WorkerScope;
  /** Set by `gw explain`: errors then go to the worker's own log only. */
  readonly watch?: CompileWatch;
}

/**
 * Compiles a plan to handlers, once per worker. Opens the modules' resources through `worker`; rejects if one cannot be
 * opened.
 */
export async function compileGateway(
  plan: GatewayPlan,
  { modules, worker, watch }: CompileOptions,
): Promise<CompiledGateway> {
  const context: ServerContext = {
    modules,
    worker,
    prefix: worker.prefix,
    watch,
    errorLogs: watch ? { of: () => worker.log } : new ErrorLogs(worker, plan.main.core.errorLogs),
    metrics: worker.metrics,
    health: worker.health,
    countsRequests: plan.countsRequests,
    keepsPhases: plan.keepsPhases,
    requestTail: requestTailOf(plan, worker),
    server: '',
    version: plan.main.version,
    variables: plan.variables,
    matchers: new Matchers(plan.variables),
    needs: { headers: new Set(), allHeaders: false, peer: false },
    provisioned: new Map(),
    turns: new Turns(),
  };
  const servers: ServerHandler[] = [];
  for (const server of plan.servers)
    servers.push(await ServerHandler.compile(server, { ...context, server: serverLabel(server, plan) }));
  const usage: Usage = { inFlight: 0 };
  return {
    usage,
    ports: plan.ports.map((port) => compilePort(port, { plan, servers, context, usage })),
    view: makeView(plan, { modules, servers, upstreams: worker.upstreams }),
  };
}

/** Returns the step that writes requests to the log tail, if a location shows the tail. */
function requestTailOf({ zones }: GatewayPlan, worker: WorkerScope): LogStep | undefined {
  if (!zones.some(({ name }) => name === LOG_TAIL.name)) return undefined;
  return compileRequestTail(openRing(worker.zone(LOG_TAIL.name), worker.workerId));
}

interface Compiled {
  readonly plan: GatewayPlan;
  readonly servers: readonly ServerHandler[];
  readonly context: ServerContext;
  readonly usage: Usage;
}

function compilePort(port: PortPlan, compiled: Compiled): PortHandler {
  const { needs } = compiled.context;
  const fallback = compiled.servers[port.defaultServer] as ServerHandler;
  const { address } = port;
  const { enter, serve } = isAlone(port, compiled) ? fallback.alone : servingByName(port, compiled);
  const facts: PortFacts = {
    scheme: port.ssl ? 'https' : 'http',
    port: address.kind === 'inet' ? address.port : 0,
    address: address.kind === 'inet' ? address.host : `unix:${address.path}`,
  };
  return {
    key: addressText(address),
    address,
    facts,
    engine: port.engine,
    proxyProtocol: port.proxyProtocol,
    tls: compilePortTls(port, compiled.plan, {
      handlers: compiled.servers,
      worker: compiled.context.worker,
    }),
    http2: port.http2,
    head: port.head,
    headLimits: port.headLimits,
    headOf: compileHeads(port, compiled.plan),
    needs,
    usage: compiled.usage,
    rules: fallback.rules,
    serverName: fallback.name,
    enter,
    enterByLine: (x) => fallback.enterByLine(x),
    serve: respondingToFailures(serve),
  };
}

function compileHeads({ heads, servers }: PortPlan, plan: GatewayPlan): PortHandler['headOf'] {
  if (!heads) return undefined;
  const names = new ServerNames<HeadRules | undefined>(undefined);
  for (const [nth, index] of servers.entries())
    for (const name of plan.servers[index]?.names ?? []) names.add(name, heads[nth]);
  return (host) => names.find(host).server;
}

/** Tells whether the port has a single server and no regex names, so that it serves every host. */
function isAlone({ servers, defaultServer, ssl }: PortPlan, { plan }: Compiled): boolean {
  return (
    !ssl && servers.length === 1 && !plan.servers[defaultServer]?.names.some(({ kind }) => kind === 'regex')
  );
}

/** The server whose certificate a client gets. */
export interface TlsTarget extends HandshakeParts {
  readonly plan: TlsPlan;
  /** True if the client asked for a name of that server. */
  readonly namesServer: boolean;
  /** True if that server speaks HTTP/2. */
  readonly http2: boolean;
}

/** The TLS settings of a port. */
export interface PortTls {
  /** Chooses the server; `serverName` is in lower case, '' if the client sent none. */
  readonly choose: (serverName: string) => TlsTarget;
  /** The server for clients that name none of the port. */
  readonly fallback: TlsTarget;
  /** The server of each name; the first one of a name has it. */
  readonly named: readonly { readonly name: ServerName; readonly target: TlsTarget }[];
  /** 48 bytes in base64, the same in every worker. */
  readonly ticketKey: string;
}

/**
 * Compiles the choice of a server by the name in the handshake. A server without a certificate uses that of the default
 * server.
 */
function compilePortTls(
  { servers, defaultServer, ssl, http2 }: PortPlan,
  plan: GatewayPlan,
  { handlers, worker }: { readonly handlers: readonly ServerHandler[]; readonly worker: WorkerScope },
): PortTls | undefined {
  const fallback = plan.servers[defaultServer]?.tls;
  if (!ssl || !fallback) return undefined;
  const speaksHttp2 = (index: number): boolean => http2?.servers.includes(index) ?? false;
  const settingsOf = (index: number): Pick<TlsTarget, 'plan' | keyof HandshakeParts> => {
    const own = plan.servers[index]?.tls;
    const shown = canShakeHands(own) ? index : defaultServer;
    return { plan: plan.servers[shown]?.tls ?? fallback, ...handlers[shown]?.handshakes };
  };
  const nameless: TlsTarget = {
    ...settingsOf(defaultServer),
    namesServer: false,
    http2: speaksHttp2(defaultServer),
  };
  const names = new ServerNames<TlsTarget>(nameless);
  const named: PortTls['named'][number][] = [];
  for (const index of servers) {
    const server = plan.servers[index];
    const target: TlsTarget = { ...settingsOf(index), namesServer: true, http2: speaksHttp2(index) };
    for (const name of server?.names ?? []) {
      names.add(name, target);
      named.push({ name, target });
    }
  }
  const choose = (serverName: string): TlsTarget =>
    serverName === '' ? nameless : names.find(serverName).server;
  return {
    choose,
    fallback: nameless,
    named,
    ticketKey: (worker.provided(TICKET_KEY) as string | undefined) ?? '',
  };
}
