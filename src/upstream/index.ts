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
export {
  implicitUpstream,
  PLAIN_SERVER,
  plainUpstream,
  serversOfBlock,
  upstreamKey,
} from './implicit-upstream.ts';
export {
  type Balancing,
  type KeepaliveConfig,
  type MeasuredTime,
  type ResolverConfig,
  type ServerConfig,
  type ServerTarget,
  type Sticky,
  type UpstreamPlan,
  addressesZone,
  membershipZone,
  readServerAddress,
  sessionsZone,
  upstreamZone,
} from './plan.ts';
export type { PeerChecks, ProbedGroup, ProbedPeer } from './probing.ts';
export { lookUpHost } from './known-names.ts';
export type {
  BalancingInput,
  MemberLookup,
  CheckView,
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
export type { MemberChange, MemberChanges, Membership, NextSharing } from './membership.ts';
export {
  type Member,
  MEMBER_CODES,
  MemberFault,
  type MemberPatch,
  type MemberSet,
  type MemberSharing,
  readMembers,
  readPatch,
} from './members.ts';
export { readSharedSet, type SharedSet, sharedSetText } from './shared-set.ts';
export { LoadTotals } from './load-totals.ts';
export type { Sessions } from './sessions.ts';
export { OpenUpstreams } from './upstreams.ts';
