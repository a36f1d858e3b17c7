export type { PeerConfig, UpstreamPlan } from './peer.ts';
export type { Balancing, KeepaliveConfig, ResolverConfig, ServerConfig, ServerTarget } from './plan.ts';
export { readRequestHost, ResolveFault } from './request-host.ts';
export type { RequestHost } from './request-host.ts';
export type {
  Ask,
  Outcome,
  Peer,
  RequestHosts,
  Resolving,
  Selection,
  UpstreamAddress,
  UpstreamGroup,
  Upstreams,
} from './selection.ts';
