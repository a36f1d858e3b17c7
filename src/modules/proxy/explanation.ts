import type { Connections } from '../../client/index.ts';
import type {
  Build,
  ExplainedAction,
  ExplainScope,
  ExplainedFact,
  ModuleExplanation,
  PassTarget,
  Explainer,
} from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import { PieceBuffers } from '../../send-file.ts';
import type { Peer, UpstreamGroup } from '../../upstream/index.ts';
import { forCache } from './cache/compile-cached.ts';
import { explainCache, mayCache } from '../../upstream-cache/index.ts';
import { compileProxyPolicy, type ProxyCachePolicy } from './cache/policy.ts';
import type { ProxyConfig } from './config.ts';
import { compileBalancingInput } from './handler.ts';
import type { Provisioned } from './provision.ts';
import { compileRequestHead, compileRequestTarget } from './request-head.ts';
import { asksForPieces } from './slice/compile-sliced.ts';
import { beginSlice, firstPiece, sliceRange } from './slice/slice-range.ts';
import { compileTarget, type Target } from './target.ts';
import { beginRound } from './tries.ts';

/** Statuses that gw itself gives if no upstream responds. */
const OWN_FAULTS: readonly number[] = [502, 504];

/** What an explanation works with: no name is resolved and no connection is opened. */
interface Unconnected extends Provisioned {
  /** The servers of an `upstream` block as they are written. */
  servers(group: string): readonly string[];
}

/** Explains which request would be sent, and to which peer. */
export const explanation: ModuleExplanation<ProxyConfig, Provisioned> = {
  provision: unconnected,
  explain: (config, provisioned, build) =>
    config.pass
      ? { content: tellForwarding(config.pass, config, { provisioned: provisioned as Unconnected, build }) }
      : {},
};

function unconnected(_config: ProxyConfig, scope: ExplainScope): Unconnected {
  const { upstreams, caches } = scope;
  return {
    upstreams: {
      groups: upstreams.groups,
      find: (address) => upstreams.find(address),
      block: (address) => upstreams.block(address),
      memberLookup: () => undefined,
      hosts: () => ({ group: (host, port) => unresolved(`${host}:${port}`) }),
    },
    connections: () => NOTHING_OPEN,
    caches,
    buffers: new PieceBuffers(),
    servers: (group) => scope.upstream(group) ?? [],
  };
}

const NOTHING_OPEN = {} as Connections;

/** A group for a host that a request names; it has no peers. */
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
    view: () => [],
  };
}

function tellForwarding(
  pass: PassTarget,
  config: ProxyConfig,
  { provisioned, build }: { readonly provisioned: Unconnected; readonly build: Build },
): Explainer {
  const targetOf = compileTarget(pass, config, { provisioned, build });
  const requestTargetOf = compileRequestTarget(build.location);
  const headOf = compileRequestHead(config, build);
  const balancingInputOf = compileBalancingInput(provisioned, build);
  const policy = mayCache(config) ? compileProxyPolicy(config, provisioned.caches, build) : undefined;
  const headForCache = policy ? compileRequestHead(forCache(config), build) : headOf;
  return async (x) => {
    const { sliceBytes: sizeBytes } = config;
    if (asksForPieces(config)) beginSlice(x, { at: firstPiece(x, sizeBytes), sizeBytes });
    const target = await targetOf(x);
    beginRound(x, target);
    const path = requestTargetOf(x, target.pass);
    const bodyBytes = config.passRequestBody ? x.request.contentLength : 0;
    const cache = policy && (await tellCache(x, policy, { target, path }));
    const framing = { target: path, proxyHost: target.proxyHost, bodyBytes };
    const isConverted = x.method === 'HEAD' && config.cacheConvertHead;
    const head = cache?.isFor
      ? headForCache(x, { ...framing, method: isConverted ? 'GET' : undefined })
      : headOf(x, framing);
    const forwards = `forwards to ${target.scheme}://${target.proxyHost}`;
    return {
      does: cache?.isServed ? `uses the cache; otherwise ${forwards}` : forwards,
      facts: [
        ...(cache?.facts ?? []),
        ...pieceFacts(x, config),
        ...requestFacts(head.text),
        ...peerFacts(target, provisioned, balancingInputOf(x, target.group)),
        ...faultFacts(x, config),
      ],
      unknown: 'the response of the upstream',
    } satisfies ExplainedAction;
  };
}

function pieceFacts(x: Exchange, config: ProxyConfig): readonly ExplainedFact[] {
  if (!asksForPieces(config)) return [];
  return [{ label: 'pieces', value: `of ${config.sliceBytes} bytes; the first is ${sliceRange(x)}` }];
}

/** Names that need not be resolved. */
const ADDRESS = /^(?:[\d.]+|\[[^\]]*\])(?::|$)/;

function requestFacts(head: string): readonly ExplainedFact[] {
  const [line = '', ...fields] = head.trimEnd().split('\r\n');
  return [
    { label: 'request', value: line },
    ...fields.map((field) => ({ label: 'header', value: withoutLogin(field) })),
  ];
}

/** Masks credentials in the headers of the request. */
function withoutLogin(field: string): string {
  return field.replace(/^((?:proxy-)?authorization|cookie):(?: (\w+) (?=\S))?.*$/i, (_all, name, scheme) =>
    scheme === undefined ? `${name}: ***` : `${name}: ${scheme} ***`,
  );
}

function peerFacts(
  { group }: Target,
  { servers }: Unconnected,
  ask: Parameters<UpstreamGroup['begin']>[0],
): readonly ExplainedFact[] {
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

/** The peer follows from the request alone; other methods depend on earlier requests. */
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

/** The responses that would be replaced by an error page. */
function faultFacts(x: Exchange, { interceptErrors }: ProxyConfig): readonly ExplainedFact[] {
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

/** Tells what the cache would do with a request. */
function tellCache(
  x: Exchange,
  policy: ProxyCachePolicy,
  { target, path }: { readonly target: Target; readonly path: string },
): ReturnType<typeof explainCache> {
  return explainCache(x, {
    policy,
    keyOf: () => policy.keyOf(x, target, path),
    isPurge: policy.purges(x),
    leftOut: policy.takes(x.method) ? undefined : `for ${x.method}`,
    refusedBy: 'proxy_no_cache',
  });
}
