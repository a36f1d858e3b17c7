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
} from './names/host-policy.ts';
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
export { lookUpHost } from './names/known-names.ts';
export type {
  BalancingInput,
  MemberLookup,
  CheckView,
  Peer,
  PeerChecks,
  PeerView,
  ProbedGroup,
  ProbedPeer,
  RequestHosts,
  Resolving,
  Selection,
  UpstreamAddress,
  UpstreamGroup,
  Upstreams,
} from './interfaces.ts';
export { compileSticky, isSameSite, setsCookie, setStickyCookie } from './balancing/sticky.ts';
export type { MemberChange, MemberChanges, Membership, NextSharing } from './members/membership.ts';
export {
  type Member,
  MEMBER_CODES,
  MemberFault,
  type MemberPatch,
  type MemberSet,
  type MemberSharing,
  readMembers,
  readPatch,
} from './members/member.ts';
export { carriedMembers, restoredMembers } from './members/carried-members.ts';
export { readSharedSet, type SharedSet, sharedSetText } from './members/shared-set.ts';
export { LoadTotals } from './meters.ts';
export type { Sessions } from './balancing/sessions.ts';
export { OpenUpstreams } from './open-upstreams.ts';
