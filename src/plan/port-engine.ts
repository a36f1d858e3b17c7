import { X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { placeText, type Report, type Span } from '../../grammar/index.ts';
import { certificateId } from '../acme/index.ts';
import type { BoundConfig } from '../config/index.ts';
import { type AcmeServerConfig, configOf, type HttpEngine, type SslConfig } from '../contract/index.ts';
import { coreOf, type PlannedServer } from './level.ts';
import { addressText } from './plan-text.ts';
import type { PortPlan } from './plan.ts';
import { shownOf } from './tls/index.ts';

/** The parts of a port that decide about its engine. */
interface EngineDraft extends Pick<PortPlan, 'address' | 'ssl' | 'proxyProtocol' | 'http2'> {
  /** `listen ... engine=`, and its place. */
  readonly engine: 'uws' | 'node' | undefined;
  readonly engineSpan: Span | undefined;
  /** `listen ... http2`. */
  readonly listensHttp2: boolean;
  readonly servers: readonly PlannedServer[];
  readonly fallback: PlannedServer;
  /** The servers of all ports. */
  readonly all: readonly PlannedServer[];
}

/** The inputs for the engines of all ports. */
export interface EngineChoice {
  readonly httpEngine: HttpEngine;
  readonly config: Pick<BoundConfig, 'uses' | 'defined'>;
  readonly report: Report;
}

/** Something that only the node engine does: its name in a message, and its place. */
interface NodeOnly {
  readonly what: string;
  readonly span: Span | undefined;
}

const RULE = 'listen-conflict';

/**
 * Chooses the engine of a port. uWebSockets.js serves a port with TLS only if the operator asks for it, and if nothing
 * on the port needs the node engine; `nodeOnly` then says what does.
 */
export function chooseEngine(
  port: EngineDraft,
  { httpEngine, config, report }: EngineChoice,
): Pick<PortPlan, 'engine' | 'nodeOnly'> {
  const asked = port.engine ?? (port.ssl && !httpEngine.tls ? 'node' : httpEngine.engine);
  if (asked === 'node') return { engine: 'node' };
  const needs = [...nodeOnly(port, config)];
  const [first] = needs;
  if (!first) return { engine: asked };
  if (port.engine === 'uws')
    for (const { what, span } of needs)
      report.emerg(`engine "uws" cannot serve ${what}`, port.engineSpan, {
        rule: RULE,
        hint: 'leave the parameter out, or say engine=node',
        ...(span && { related: [{ span, label: 'this needs the node engine' }] }),
      });
  else if (port.ssl)
    report.notice(
      `${addressText(port.address)} is served by the node engine: uWebSockets.js cannot serve ${first.what}`,
      first.span ?? port.fallback.block.node?.name.span,
      { rule: 'tls-on-node-engine' },
    );
  const place = first.span ? ` in ${placeText(first.span)}` : '';
  return { engine: 'node', ...(port.ssl && { nodeOnly: `${first.what}${place}` }) };
}

function* nodeOnly(port: EngineDraft, config: EngineChoice['config']): Generator<NodeOnly> {
  if (port.proxyProtocol) yield { what: 'the PROXY protocol', span: undefined };
  if (port.listensHttp2 || (port.http2 && (port.ssl || port.engine !== 'uws')))
    yield { what: 'HTTP/2', span: spanOfHttp2(port) };
  if (!port.ssl) return;
  yield* settingsOfNode(port.servers);
  yield* keysOfNode(port);
  yield* ordersOfNode(port);
  yield* namesOfNode(port);
  yield* variablesOfNode(port, config);
}

function spanOfHttp2({ servers }: EngineDraft): Span | undefined {
  return servers.flatMap(({ level }) => level.get('core')?.from.get('http2')?.spans ?? [])[0];
}

const always = (): boolean => true;
type Files = NonNullable<SslConfig['certificates']>;

/** One file, or the variable of `acme_certificate`, whose content is the same for all clients. */
const isSingle = (files: Files): boolean =>
  files.length === 1 && (files[0]?.named === undefined || isOrdered(files[0]));

function isOrdered({ named }: Files[number]): boolean {
  const [part, ...others] = named?.value.parts ?? [];
  return typeof part === 'object' && 'variable' in part && others.length === 0 && ORDERED.has(part.variable);
}

const ORDERED: ReadonlySet<string> = new Set(['acme_certificate', 'acme_certificate_key']);

/**
 * The values that uWebSockets.js carries out. It has no way to set anything but a pair of files and a list of ciphers;
 * what verifies clients has no effect without `ssl_verify_client`, as in nginx.
 */
const CARRIED_OUT: {
  readonly [K in keyof SslConfig]-?: (value: NonNullable<SslConfig[K]>) => boolean;
} = {
  enabled: always,
  certificates: isSingle,
  keys: isSingle,
  passwordFile: always,
  certificateCache: always,
  protocols: (versions) => isDeepStrictEqual(versions.toSorted(), ['TLSv1.2', 'TLSv1.3']),
  // Its list knows no levels of security (`@SECLEVEL=1`).
  ciphers: (list) => !list.includes('@'),
  preferServerCiphers: (isOn) => !isOn,
  curves: (curves) => curves === 'auto',
  dhParam: () => false,
  commands: () => false,
  sessionCache: (cache) => cache === 'none',
  sessionTimeoutMs: () => false,
  sessionTickets: (isOn) => isOn,
  ticketKeys: () => false,
  staplingFile: () => false,
  stapling: (isOn) => !isOn,
  staplingVerify: always,
  staplingResponder: always,
  clientCertificate: always,
  trustedCertificate: always,
  verifyClient: (verify) => verify === 'off',
  verifyDepth: always,
  crl: always,
  rejectHandshake: always,
  ocsp: (mode) => mode === 'off',
  ocspResponder: always,
  ocspCache: always,
};

/** The code of a plain request on a port with TLS, which uWebSockets.js does not answer. */
const PLAIN_REQUEST = 497;

function* settingsOfNode(servers: readonly PlannedServer[]): Generator<NodeOnly> {
  for (const { level } of servers) {
    const ssl = configOf(level, 'ssl');
    for (const [field, { directive, spans }] of level.get('ssl')?.from ?? []) {
      const name = field as keyof SslConfig;
      const isCarriedOut = CARRIED_OUT[name] as (value: unknown) => boolean;
      if (!isCarriedOut(ssl[name])) yield { what: `"${directive}"`, span: spans.at(-1) };
    }
    const pages = coreOf(level).errorPages ?? [];
    const nth = pages.findIndex(({ codes }) => codes.includes(PLAIN_REQUEST));
    if (nth >= 0)
      yield {
        what: `"error_page ${PLAIN_REQUEST}"`,
        span: level.get('core')?.from.get('errorPages')?.spans[nth],
      };
  }
}

/** The types of keys that BoringSSL has. */
const KEY_TYPES: ReadonlySet<string | undefined> = new Set(['rsa', 'ec', 'ed25519']);

function* keysOfNode({ servers }: EngineDraft): Generator<NodeOnly> {
  for (const { plan, level } of servers) {
    const [certificate] = plan.tls?.certificates ?? [];
    const type = certificate && new X509Certificate(certificate).publicKey.asymmetricKeyType;
    if (certificate === undefined || KEY_TYPES.has(type)) continue;
    yield { what: `a key of type "${type}"`, span: level.get('ssl')?.from.get('certificates')?.spans[0] };
  }
}

const orderOf = ({ plan }: PlannedServer): AcmeServerConfig['served'] =>
  (plan.root.modules['acme'] as AcmeServerConfig | undefined)?.served;

/** What certificates are ordered by that needs a decision in a handshake. */
function* ordersOfNode({ servers }: EngineDraft): Generator<NodeOnly> {
  for (const server of servers) {
    const served = orderOf(server);
    const from = server.level.get('acme')?.from;
    const span = (from?.get('onDemand') ?? from?.get('order') ?? from?.get('acmeDomain'))?.spans[0];
    const issuer = served?.issuers.find(({ name }) => name === served.certificate?.issuer);
    if (served?.onDemand) yield { what: '"acme_on_demand"', span };
    else if (issuer?.challenge === 'tls-alpn-01') yield { what: '"challenge tls-alpn-01"', span };
  }
}

/** What clients of a server are shown, that is ordered included. */
function shownBy(server: PlannedServer | undefined): unknown {
  const tls = server?.plan.tls;
  const certificate = server && orderOf(server)?.certificate;
  return tls && [shownOf(tls), tls.named.length > 0 && certificate ? certificateId(certificate) : ''];
}

/** Names that uWebSockets.js cannot match, where they decide about the certificate. */
function* namesOfNode({ servers, fallback }: EngineDraft): Generator<NodeOnly> {
  const own = shownBy(fallback);
  for (const server of servers) {
    const { plan, level } = server;
    const odd = plan.names.find(({ kind }) => kind === 'regex' || kind === 'trailing wildcard');
    if (!odd || !plan.tls || isDeepStrictEqual(shownBy(server), own)) continue;
    yield {
      what: `a certificate for the "server_name" of a ${odd.kind === 'regex' ? 'regular expression' : 'wildcard at the end'}`,
      span: level.get('core')?.from.get('serverNames')?.spans[0],
    };
  }
}

/** Variables of TLS: uWebSockets.js tells nothing about handshakes. Those in servers of other ports do not count. */
function* variablesOfNode(
  { servers, all }: EngineDraft,
  { uses, defined }: EngineChoice['config'],
): Generator<NodeOnly> {
  const ofTls = uses.filter(({ name }) => name.startsWith('ssl_') && !defined.has(name));
  if (ofTls.length === 0) return;
  const own = new Set(servers);
  const foreign = all.flatMap((server) => (own.has(server) ? [] : (server.block.node?.span ?? [])));
  const use = ofTls.find(({ span }) => !foreign.some((outer) => isWithin(span, outer)));
  if (use) yield { what: `"$${use.name}"`, span: use.span };
}

function isWithin(inner: Span, outer: Span): boolean {
  return inner.source === outer.source && outer.start <= inner.start && inner.end <= outer.end;
}
