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
  type HeaderCondition,
  type HealthCheck,
  type HealthMatch,
  type KeepaliveConfig,
  type MeasuredTime,
  type ResolverConfig,
  type ServerConfig,
  type ServerTarget,
  type Sticky,
  type UpstreamPlan,
  membershipZone,
  readServerAddress,
  sessionsZone,
  upstreamZone,
  upstreamZoneName,
} from './plan.ts';
export { lookUpHost } from './name-resolver.ts';
export type {
  BalancingInput,
  MemberLookup,
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
export type { MemberChange, Membership } from './membership.ts';
export {
  type Member,
  MEMBER_CODES,
  MemberFault,
  type MemberPatch,
  type MemberSet,
  readMembers,
  readPatch,
} from './members.ts';
export { OpenUpstreams } from './upstreams.ts';
export { MAX_CHECKS } from './peer-set.ts';
