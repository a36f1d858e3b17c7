export { allowedHosts } from './allowed-hosts.ts';
export type { AllowedHost } from './allowed-hosts.ts';
export type { Origin } from './host-origin.ts';
export { admits, HostPolicy, HostRefused } from './host-policy.ts';
export type { AddressRule } from './host-policy.ts';
export { implicitUpstream, upstreamKey } from './implicit.ts';
export type {
  Balancing,
  KeepaliveConfig,
  ResolverConfig,
  ServerConfig,
  ServerTarget,
  UpstreamPlan,
} from './plan.ts';
export { lookUpHost } from './names/system-lookup.ts';
export { readRequestHost, ResolveFault } from './request-host.ts';
export type { RequestHost } from './request-host.ts';
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
