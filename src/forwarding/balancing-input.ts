import type { Exchange, HeaderFilter } from '../http/index.ts';
import {
  type BalancingInput,
  compileSticky,
  setsCookie,
  setStickyCookie,
  type UpstreamGroup,
} from '../upstream/index.ts';
import type { ForwardingBuild } from './build.ts';
import type { Provisioned } from './connections.ts';

/** Compiles the values of a request that load balancing needs. Only those that a group uses are read. */
export function compileBalancingInput(
  { upstreams }: Pick<Provisioned, 'upstreams'>,
  build: ForwardingBuild,
): (x: Exchange, group: UpstreamGroup) => BalancingInput {
  const { groups } = upstreams;
  if (groups.some(({ wantsClientAddress }) => wantsClientAddress)) build.needPeer();
  const inputs = new Map(groups.flatMap((group) => inputOf(group, build)));
  return (x, group) => inputs.get(group)?.(x) ?? NOTHING;
}

function inputOf(
  group: UpstreamGroup,
  build: ForwardingBuild,
): [UpstreamGroup, (x: Exchange) => BalancingInput][] {
  const { key, sticky, wantsClientAddress } = group;
  if (!key && !sticky && !wantsClientAddress) return [];
  const keyOf = key && build.value(key);
  const bindingOf = compileSticky(group, build);
  const read = (x: Exchange): BalancingInput => ({
    ...(keyOf && { key: keyOf(x) }),
    ...(wantsClientAddress && { clientAddress: x.remoteAddress }),
    ...(bindingOf && { binding: bindingOf(x) }),
  });
  return [[group, read]];
}

const NOTHING: BalancingInput = {};

/** Returns the filter that sets the cookies of sticky groups; no filter if there is no such group. */
export function stickyFilter({ upstreams: { groups } }: Pick<Provisioned, 'upstreams'>): {
  readonly filter?: HeaderFilter;
} {
  return groups.some(({ sticky }) => sticky && setsCookie(sticky)) ? { filter: setStickyCookie } : {};
}
