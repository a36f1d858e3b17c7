export type { PeerConfig, UpstreamPlan } from './peer.ts';
