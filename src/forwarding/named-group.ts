import type { ComplexValue } from '../config/index.ts';
import { HttpFault } from '../http/index.ts';
import {
  type AllowedHost,
  HostPolicy,
  HostRefused,
  type Origin,
  readRequestHost,
  type RequestHosts,
  ResolveFault,
  type ResolverConfig,
  type UpstreamAddress,
  type UpstreamGroup,
  type Upstreams,
} from '../upstream/index.ts';

/** The value of a `…_pass` with variables. */
interface NamingValue {
  readonly value: ComplexValue;
  /** For messages: `proxy_pass`. */
  readonly directive: string;
  /** Hosts that the variables may name; absent: see `HostPolicy`. */
  readonly allowHosts?: readonly (readonly AllowedHost[])[] | undefined;
  /** The configuration itself names the Unix socket, so the request does not choose it. */
  readonly isFixedSocket: boolean;
}

interface NamingBuild {
  readonly core: { readonly resolver?: ResolverConfig; readonly resolverTimeoutMs: number };
  origins(value: ComplexValue): readonly (readonly Origin[])[];
}

/** Finds the group that a request names. Returns a promise only if a name has to be resolved. */
type GroupOf = (address: UpstreamAddress) => UpstreamGroup | Promise<UpstreamGroup>;

/**
 * Compiles the search for the groups of requests: an `upstream` block, or the host with its addresses. A refused host
 * gives a 403, and one that cannot be resolved a 502.
 */
export function compileNamedGroup(
  naming: NamingValue,
  { upstreams, build }: { readonly upstreams: Upstreams; readonly build: NamingBuild },
): GroupOf {
  const { value, allowHosts, directive, isFixedSocket } = naming;
  const { resolver, resolverTimeoutMs } = build.core;
  const resolving = { resolver, timeoutMs: resolverTimeoutMs };
  const policy = HostPolicy.of(value, allowHosts, () => build.origins(value));
  const lookup: GroupLookup = {
    upstreams,
    isFixedSocket,
    mayBeSocket: isConfigured(build.origins(value)),
    hosts: upstreams.hosts(resolving),
    ...(policy && {
      guard: { policy, hosts: upstreams.hosts({ ...resolving, addresses: policy.addresses }) },
    }),
  };
  const refuse = (error: unknown): never => {
    if (error instanceof HostRefused) throw new HttpFault(403, `${error.message} in "${directive}"`);
    throw error instanceof ResolveFault ? new HttpFault(502, error.message) : error;
  };
  return (address) => {
    try {
      const group = groupOf(address, lookup);
      if (group instanceof Promise) return group.catch(refuse);
      if (group.skipped === undefined) return group;
      throw new HttpFault(501, `not served: "${group.skipped}" is not supported`, { isFinal: true });
    } catch (error) {
      return refuse(error);
    }
  };
}

interface GroupLookup {
  readonly upstreams: Upstreams;
  readonly hosts: RequestHosts;
  readonly isFixedSocket: boolean;
  /** True if the request chooses no part of the address. */
  readonly mayBeSocket: boolean;
  /** Present if the allowed hosts are limited. `hosts` resolves names within the allowed addresses. */
  readonly guard?: { readonly policy: HostPolicy; readonly hosts: RequestHosts };
}

function groupOf(
  address: UpstreamAddress,
  { upstreams, hosts, isFixedSocket, mayBeSocket, guard }: GroupLookup,
): UpstreamGroup | Promise<UpstreamGroup> {
  const isSocket = address.host.startsWith('unix:');
  if (!isSocket || isFixedSocket) {
    const block = guard && !isSocket ? upstreams.block(address) : upstreams.find(address);
    if (block) return block;
  }
  if (isSocket && mayBeSocket) return hosts.socket(address.host);
  const written = address.port === undefined ? address.host : `${address.host}:${address.port}`;
  const named = readRequestHost(written);
  if (named instanceof ResolveFault) throw named;
  const { host, port = address.defaultPort } = named;
  if (port === 0) throw new HttpFault(500, `no port in upstream "${written}"`);
  if (!guard) return hosts.group(host, port);
  if (!guard.policy.settles(named, port)) return guard.hosts.group(host, port);
  // A host that the configuration names elsewhere already has a group.
  return upstreams.find(address) ?? hosts.group(host, port);
}

/** Tells whether the configuration chooses every piece of a value. Only then may it name a socket. */
function isConfigured(values: readonly (readonly Origin[])[]): boolean {
  return values.flat().every((piece) => typeof piece === 'string' || piece.by === 'configuration');
}

/** True if the text before the first variable names a socket, in any protocol. */
export function namesFixedSocket({ parts: [first] }: ComplexValue): boolean {
  return typeof first === 'string' && /^(?:\w+:\/\/)?unix:[^:]+:/i.test(first);
}
