export { implicitUpstream, upstreamKey } from './implicit.ts';
export type {
  Balancing,
  KeepaliveConfig,
  ResolverConfig,
  ServerConfig,
  ServerTarget,
  UpstreamPlan,
} from './plan.ts';
export { readRequestHost, ResolveFault } from './request-host.ts';
export type {
  Ask,
  Outcome,
  Peer,
  PeerView,
  RequestHosts,
  Resolving,
  Selection,
  UpstreamAddress,
  UpstreamGroup,
  Upstreams,
} from './selection.ts';
export { readServerAddress } from './server-address.ts';
export { OpenUpstreams } from './upstreams.ts';
export { upstreamZone, upstreamZoneName } from './zone.ts';
