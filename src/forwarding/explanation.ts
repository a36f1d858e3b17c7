import { PieceBuffers } from '../bodies/index.ts';
import { type Caches, explainCache, mayCache } from '../cache/index.ts';
import type { Carriers } from '../client/index.ts';
import type { Exchange } from '../http/index.ts';
import { isSecretName, MASK, redact } from '../log/index.ts';
import type { Peer, UpstreamGroup, Upstreams } from '../upstream/index.ts';
import type { ForwardingBuild } from './forwarding-build.ts';
import { compileForwardingPolicy, type ForwardingPolicy } from './cached-sending.ts';
import type { ForwardingConfig } from './config.ts';
import type { Provisioned } from './connections.ts';
import { compileBalancingInput } from './handler.ts';
import type { Protocol, RequestedTarget, RequestHead, Target } from './protocol.ts';
import { asksForPieces } from './slice/compile-sliced.ts';
import { beginSlice, firstPiece, sliceRange } from './slice/pieces.ts';
import { beginRound } from './tries.ts';

/** Statuses with which gw itself responds if no upstream does. */
const OWN_FAULTS: readonly number[] = [502, 504];

/** The means of an explanation. No name is resolved and no connection is opened. */
export interface Unconnected extends Provisioned {
  /** Returns the servers of an `upstream` block as written. */
  servers(group: string): readonly string[];
  /** The cluster whose gateways share sessions, if there is one. */
  readonly sessionsCluster: string | undefined;
}

interface Scope {
  readonly upstreams: Upstreams;
  readonly caches: Caches;
  readonly clusterNames: readonly string[];
  upstream(name: string): readonly string[] | undefined;
}

/** Returns the means of an explanation. */
export function unconnected(scope: Scope): Unconnected {
  const { upstreams, caches, clusterNames } = scope;
  return {
    upstreams: {
      groups: upstreams.groups,
      find: (address) => upstreams.find(address),
      block: (address) => upstreams.block(address),
      memberLookup: () => undefined,
      hosts: () => ({ group: (host, port) => unresolved(`${host}:${port}`), socket: unresolved }),
      texts: () => Promise.resolve([]),
    },
    connections: () => NOTHING_OPEN,
    caches,
    sharePurges: () => undefined,
    buffers: new PieceBuffers(),
    servers: (group) => scope.upstream(group) ?? [],
    sessionsCluster: clusterNames[0],
  };
}

const NOTHING_OPEN = {} as Carriers;

/** Returns a group without peers, for a host that a request names. */
function unresolved(name: string): UpstreamGroup {
  return {
    name,
    key: undefined,
    sticky: undefined,
    method: 'round_robin',
    sessions: undefined,
    membership: undefined,
    configured: '',
    wantsClientAddress: false,
    keepalive: { requests: 0, timeMs: 0, timeoutMs: 0 },
    connectionSet: '',
    begin: () => ({
      tries: 0,
      peer: undefined,
      next: () => undefined,
      headArrived: () => undefined,
      done: () => undefined,
    }),
    peerAt: () => undefined,
    view: () => [],
  };
}

interface Fact {
  readonly label: string;
  readonly value: string;
}

/** A location whose forwarding is explained. */
export interface ExplainedLocation<T extends Target> {
  readonly config: ForwardingConfig;
  readonly provisioned: Unconnected;
  readonly protocol: Protocol<T>;
  /** The prefix of the protocol's directives: `proxy`. */
  readonly prefix: string;
  /** Returns facts about the parts of a request. */
  tell(x: Exchange, asked: RequestedTarget<T>, isForCache: boolean): readonly Fact[];
}

/** Explains the request that would be sent, and its peer. */
export function explainForwarding<T extends Target>(
  { config, provisioned, protocol, prefix, tell }: ExplainedLocation<T>,
  build: ForwardingBuild,
): (x: Exchange) => Promise<{ does: string; facts: readonly Fact[]; unknown: string }> {
  const balancingInputOf = compileBalancingInput(provisioned, build);
  const { caches } = provisioned;
  const policy = mayCache(config) ? compileForwardingPolicy(config, { caches, protocol }, build) : undefined;
  const { sliceBytes: sizeBytes, purgeCluster } = build.core;
  const hasPieces = asksForPieces(protocol.range, sizeBytes);
  return async (x) => {
    if (hasPieces) beginSlice(x, { at: firstPiece(x, sizeBytes), sizeBytes });
    const target = await protocol.targetOf(x);
    beginRound(x, target);
    const uri = protocol.uriOf(x, target);
    const bodyBytes = config.passRequestBody ? x.request.contentLength : 0;
    const cache = policy && (await tellCache(x, { policy, prefix, purgeCluster }, { target, uri }));
    const isForCache = cache?.isFor === true;
    const isConverted = isForCache && x.method === 'HEAD' && config.cacheConvertHead;
    const asked = { target, uri, bodyBytes, method: isConverted ? 'GET' : undefined };
    const forwards = `forwards to ${target.scheme}://${target.proxyHost ?? target.group.name}`;
    return {
      does: cache?.isServed ? `uses the cache; otherwise ${forwards}` : forwards,
      facts: [
        ...(cache?.facts ?? []),
        ...(hasPieces ? pieceFacts(x, sizeBytes) : []),
        ...tell(x, asked, isForCache),
        ...sessionFacts(target, provisioned),
        ...peerFacts(target, provisioned, balancingInputOf(x, target.group)),
        ...faultFacts(x, config),
      ],
      unknown: 'the response of the upstream',
    };
  };
}

function pieceFacts(x: Exchange, sizeBytes: number): readonly Fact[] {
  return [{ label: 'pieces', value: `of ${sizeBytes} bytes; the first is ${sliceRange(x)}` }];
}

function sessionFacts({ group: { sticky } }: Target, { sessionsCluster }: Unconnected): readonly Fact[] {
  if (sticky?.kind !== 'learn') return [];
  const whose = sticky.isShared && sessionsCluster !== undefined;
  const value = `learned in "${sticky.zone}"${whose ? ` by all gateways of cluster "${sessionsCluster}"` : ''}`;
  return [{ label: 'sessions', value }];
}

/** Addresses, which need not be resolved. */
const ADDRESS = /^(?:[\d.]+|\[[^\]]*\])(?::|$)/;

function peerFacts(
  { group }: Target,
  { servers }: Unconnected,
  ask: Parameters<UpstreamGroup['begin']>[0],
): readonly Fact[] {
  const known = group.view();
  const unasked = servers(group.name).filter((name) => !known.some((peer) => peer.name === name));
  const peers = [
    ...known.map(({ address, weight, backup, state }) => ({
      label: 'peer',
      value: [
        address,
        weight === 1 ? '' : `weight ${weight}`,
        backup ? 'backup' : '',
        state === 'up' ? '' : state,
      ]
        .filter(Boolean)
        .join(', '),
    })),
    ...unasked.map((name) => ({ label: 'peer', value: `${name}, whose addresses are looked up at start` })),
  ];
  if (peers.length === 0)
    peers.push({
      label: 'peer',
      value: ADDRESS.test(group.name) ? group.name : `${group.name}, whose addresses are looked up`,
    });
  const picked = isDecided(group) && unasked.length === 0 ? picking(group, ask) : undefined;
  return picked
    ? [...peers, { label: 'chosen', value: `${picked.address}, by ${whatDecides(group, ask)}` }]
    : peers;
}

/** Tells whether the request alone determines the peer. With other methods, earlier requests matter. */
function isDecided({ key, wantsClientAddress }: UpstreamGroup): boolean {
  return key !== undefined || wantsClientAddress;
}

function picking(group: UpstreamGroup, ask: Parameters<UpstreamGroup['begin']>[0]): Peer | undefined {
  const selection = group.begin(ask);
  const peer = selection.next();
  selection.done('unused');
  return peer;
}

function whatDecides({ wantsClientAddress }: UpstreamGroup, { key = '' }: { readonly key?: string }): string {
  return wantsClientAddress ? "the client's address" : `the hash of "${key}"`;
}

/** Returns facts about responses that an error page would replace. */
function faultFacts(x: Exchange, { interceptErrors }: ForwardingConfig): readonly Fact[] {
  const codes = [...(x.rules.errorPages?.keys() ?? [])].filter(
    (code) => interceptErrors || OWN_FAULTS.includes(code),
  );
  return codes.length === 0
    ? []
    : [
        {
          label: 'if',
          value: `${interceptErrors ? 'the status of the upstream or of gw is' : 'no upstream responds:'} ${codes.join(', ')} → its error_page`,
        },
      ];
}

interface ExplainedCache<T extends Target> {
  readonly policy: ForwardingPolicy<T>;
  readonly prefix: string;
  readonly purgeCluster: string | undefined;
}

/** Returns facts about how the cache would treat a request. */
function tellCache<T extends Target>(
  x: Exchange,
  { policy, prefix, purgeCluster }: ExplainedCache<T>,
  asked: Pick<RequestedTarget<T>, 'target' | 'uri'>,
): ReturnType<typeof explainCache> {
  return explainCache(x, {
    policy,
    keyOf: () => policy.keyOf(x, asked),
    isPurge: policy.purges(x),
    purgeCluster,
    leftOut: policy.takes(x.method) ? undefined : `for ${x.method}`,
    refusedBy: `${prefix}_no_cache`,
  });
}

interface Fact {
  readonly label: string;
  readonly value: string;
}

/** Returns facts about the head of an HTTP request that would be sent, without credentials. */
export function explainHttpRequest({ head, fields }: Pick<RequestHead, 'head' | 'fields'>): readonly Fact[] {
  const [line = '', ...lines] = fields ? linesOf(fields) : String(head).trimEnd().split('\r\n');
  return [
    { label: 'request', value: line },
    ...lines.map((field) => ({ label: 'header', value: withoutLogin(field) })),
  ];
}

/** Writes the pseudo-fields of HTTP/2 as the request line of HTTP/1. */
function linesOf(fields: readonly string[]): readonly string[] {
  const pseudo = new Map<string, string>();
  const lines: string[] = [];
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] as string;
    const value = Buffer.from(fields[index + 1] as string, 'latin1').toString();
    if (name.startsWith(':')) pseudo.set(name, value);
    else lines.push(`${name}: ${value}`);
  }
  const line = `${pseudo.get(':method')} ${pseudo.get(':path')} HTTP/2`;
  return [line, `:authority: ${pseudo.get(':authority')}`, ...lines];
}

/** Masks credentials in the headers of the request. */
function withoutLogin(field: string): string {
  const [, name = '', scheme] = /^([^:]+):(?: (\w+) (?=\S))?/.exec(field) ?? [];
  if (!isSecretName(name)) return redact(field);
  return scheme === undefined ? `${name}: ${MASK}` : `${name}: ${scheme} ${MASK}`;
}
