export {
  allowedHosts,
  type AllowedHost,
  type Origin,
  admits,
  HostPolicy,
  HostRefused,
  type AddressRule,
  readRequestHost,
  ResolveFault,
  type RequestHost,
} from './host-policy.ts';
export { implicitUpstream, upstreamKey } from './implicit-upstream.ts';
export {
  type Balancing,
  type KeepaliveConfig,
  type MeasuredTime,
  type ResolverConfig,
  type ServerConfig,
  type ServerTarget,
  type Sticky,
  type UpstreamPlan,
  readServerAddress,
  sessionsZone,
  upstreamZone,
  upstreamZoneName,
} from './plan.ts';
export { lookUpHost } from './name-resolver.ts';
export type {
  BalancingInput,
  Peer,
  PeerView,
  RequestHosts,
  Resolving,
  Selection,
  UpstreamAddress,
  UpstreamGroup,
  Upstreams,
} from './selection.ts';
export { compileSticky, isSameSite, setsCookie, setStickyCookie } from './sticky.ts';
export { OpenUpstreams } from './upstreams.ts';
