import { isDeepStrictEqual } from 'node:util';
import type { Report, Span } from '../../grammar/index.ts';
import { firstAt, type ResolvedConfigs } from '../config/index.ts';
import { configOf, type CoreConfig, type ListenAddress, type ListenConfig } from '../contract/index.ts';
import { checkServerNames, checkSslOn, checkTlsPort } from './checks/ports.ts';
import { coreOf, type PlannedServer } from './level.ts';
import { addressText } from './plan-text.ts';
import type { HeadLimits, HeadRules, Http2Rules, PortPlan } from './plan.ts';
import { chooseEngine, type EngineChoice } from './port-engine.ts';

const CONFLICT = 'listen-conflict';

/** A smaller window would slow down uploads over long distances: only one window's bytes can be on their way. */
const LEAST_WINDOW_BYTES = 262_144;
/** RFC 9113, 6.9.1 */
const LARGEST_WINDOW_BYTES = 2 ** 31 - 1;

/** A port while the plan is made. */
interface PortDraft {
  readonly address: ListenAddress;
  /** The index of each server on the port, and the span of its `listen`. */
  readonly listens: Map<number, Span | undefined>;
  defaultServer: number | undefined;
  /** A parameter of one `listen` applies to every `listen` with the same address (nginx). */
  ssl: boolean;
  proxyProtocol: boolean;
  http2: boolean;
  engine: ListenConfig['engine'];
  engineSpan: Span | undefined;
}

/** Returns the sockets of all servers. Servers on the same address share one socket and are selected by name. */
export function planPorts(servers: readonly PlannedServer[], choice: EngineChoice): readonly PortPlan[] {
  const { report } = choice;
  const ports = new Map<string, PortDraft>();
  for (const [index, server] of servers.entries()) {
    checkSslOn(server, report);
    const spans = server.level.get('core')?.from.get('listens')?.spans ?? [];
    for (const [nth, listen] of listensOf(server).entries()) {
      if (listen.quic) continue;
      const ssl = listen.ssl ?? isSslOn(server.level);
      const span = spans[nth] ?? server.block.node?.name.span;
      for (const address of addressesOf(listen))
        addListen({
          ports,
          listen: { ...listen, address, ...(ssl && { ssl: true }) },
          index,
          span,
          report,
        });
    }
  }
  for (const port of ports.values()) checkPort(port, servers, report);
  return [...ports.values()].map((port) => plannedPort(port, servers, choice));
}

function checkPort(port: PortDraft, servers: readonly PlannedServer[], report: Report): void {
  const mine = [...port.listens.keys()];
  checkServerNames({ address: port.address, servers: mine }, servers, report);
  if (!port.ssl) return;
  const fallback = servers[port.defaultServer ?? (mine[0] as number)] as PlannedServer;
  checkTlsPort(
    mine.map((index) => servers[index] as PlannedServer),
    fallback,
    report,
  );
}

function plannedPort(port: PortDraft, all: readonly PlannedServer[], choice: EngineChoice): PortPlan {
  const plan = portPlan(port, all);
  const at = (index: number): PlannedServer => all[index] as PlannedServer;
  const servers = plan.servers.map(at);
  const { engine, engineSpan, http2: listensHttp2 } = port;
  const draft = {
    ...plan,
    engine,
    engineSpan,
    listensHttp2,
    servers,
    fallback: at(plan.defaultServer),
    all,
  };
  const chosen = chooseEngine(draft, choice);
  return { ...plan, ...chosen, http2: chosen.engine === 'node' ? plan.http2 : undefined };
}

/** Returns the addresses of a `listen`, one for each port. */
function addressesOf({ address, lastPort }: ListenConfig): readonly ListenAddress[] {
  if (address.kind === 'unix' || lastPort === undefined) return [address];
  return Array.from({ length: lastPort - address.port + 1 }, (_, index) => ({
    ...address,
    port: address.port + index,
  }));
}

/** Tells whether a server has the deprecated `ssl on`. */
function isSslOn(level: ResolvedConfigs): boolean {
  return configOf(level, 'ssl').enabled;
}

function listensOf({ level, block }: PlannedServer): readonly ListenConfig[] {
  const { listens } = coreOf(level);
  // Invalid `listen` directives have been reported; the default port would only cause more faults.
  if (listens || block.node?.block?.some(({ name }) => name.value === 'listen')) return listens ?? [];
  const port = process.getuid?.() === 0 ? 80 : 8000;
  return [{ address: { kind: 'inet', host: '0.0.0.0', port }, defaultServer: false }];
}

interface ListenSite {
  readonly ports: Map<string, PortDraft>;
  readonly listen: ListenConfig;
  readonly index: number;
  readonly span: Span | undefined;
  readonly report: Report;
}

function addListen({ ports, listen, index, span, report }: ListenSite): void {
  const name = addressText(listen.address);
  const port: PortDraft = ports.get(name) ?? {
    address: listen.address,
    listens: new Map(),
    defaultServer: undefined,
    ssl: false,
    proxyProtocol: false,
    http2: false,
    engine: undefined,
    engineSpan: undefined,
  };
  ports.set(name, port);
  if (port.listens.has(index))
    return report.emerg(
      `a duplicate listen ${name}`,
      span,
      firstAt(port.listens.get(index), 'set', CONFLICT),
    );
  if (listen.defaultServer && port.defaultServer !== undefined) {
    const first = firstAt(port.listens.get(port.defaultServer), 'set', CONFLICT);
    return report.emerg(`a duplicate default server for ${name}`, span, first);
  }
  port.listens.set(index, span);
  if (listen.defaultServer) port.defaultServer = index;
  port.ssl ||= listen.ssl === true;
  port.proxyProtocol ||= listen.proxyProtocol === true;
  port.http2 ||= listen.http2 === true;
  if (listen.engine === undefined || port.engine !== undefined) return;
  port.engine = listen.engine;
  port.engineSpan = span;
}

function portPlan(
  { address, listens, defaultServer, ssl, proxyProtocol, http2 }: PortDraft,
  all: readonly PlannedServer[],
): Omit<PortPlan, 'engine'> {
  const servers = [...listens.keys()];
  const fallback = defaultServer ?? (servers[0] as number);
  const coreOfServer = (index: number): CoreConfig => (all[index] as PlannedServer).plan.root.core;
  const { headerBufferBytes } = coreOfServer(fallback);
  const head = headRules(coreOfServer(fallback), headerBufferBytes);
  const heads = servers.map((index) => headRules(coreOfServer(index), headerBufferBytes));
  return {
    address,
    servers,
    defaultServer: fallback,
    ssl,
    proxyProtocol,
    http2: http2Rules({ servers, fallback, ssl, http2 }, all),
    head,
    headLimits: largestOf(heads),
    heads: heads.every((one) => isDeepStrictEqual(one, head)) ? undefined : heads,
  };
}

/** Returns the rules for heads. The first buffer for a head is that of the default server (nginx). */
function headRules(core: CoreConfig, firstBufferBytes: number): HeadRules {
  const { number, sizeBytes } = core.largeHeaderBuffers;
  return {
    lineBytes: Math.max(sizeBytes, firstBufferBytes),
    bytes: number * sizeBytes + firstBufferBytes,
    fieldBytes: sizeBytes,
    fieldsBytes: number * sizeBytes,
    maxHeaders: core.maxHeaders,
    timeoutMs: core.headerTimeoutMs,
    underscores: core.underscoresInHeaders,
    ignoresInvalid: core.ignoreInvalidHeaders,
    mergeSlashes: core.mergeSlashes,
  };
}

function largestOf(heads: readonly HeadRules[]): HeadLimits {
  return {
    lineBytes: Math.max(...heads.map(({ lineBytes }) => lineBytes)),
    bytes: Math.max(...heads.map(({ bytes }) => bytes)),
    maxHeaders: Math.max(...heads.map(({ maxHeaders }) => maxHeaders)),
  };
}

/** The parts of a port that decide about HTTP/2. `http2` is true if a `listen` enables it. */
interface Http2Draft extends Pick<PortDraft, 'ssl' | 'http2'> {
  readonly servers: readonly number[];
  readonly fallback: number;
}

/**
 * Returns the rules of HTTP/2; `undefined` if the port does not speak it. Without TLS the default server decides, with TLS
 * the server that the handshake names (nginx).
 */
function http2Rules(
  { servers, fallback, ssl, http2 }: Http2Draft,
  all: readonly PlannedServer[],
): Http2Rules | undefined {
  const coreOfServer = (index: number): CoreConfig => (all[index] as PlannedServer).plan.root.core;
  const speaking = servers.filter((index) => http2 || coreOfServer(index).http2);
  if (ssl ? speaking.length === 0 : !speaking.includes(fallback)) return undefined;
  const { http2MaxStreams, http2PrereadBytes } = coreOfServer(fallback);
  return {
    servers: speaking,
    maxStreams: http2MaxStreams,
    windowBytes: Math.min(Math.max(http2PrereadBytes, LEAST_WINDOW_BYTES), LARGEST_WINDOW_BYTES),
  };
}
