export { makePlan } from './make-plan.ts';
export type { PlanOptions } from './make-plan.ts';
export { locationText } from './location-text.ts';
export { addressText } from './address-text.ts';
export type {
  GatewayPlan,
  HeadRules,
  LocationPlan,
  MainPlan,
  ModuleConfigs,
  NamelessPlan,
  PortPlan,
  ServerPlan,
  VariablePlan,
} from './plan.ts';
export { findLocation } from './find-location.ts';
export type { Reach } from './find-location.ts';
export { allLocations } from './all-locations.ts';
export { inOrder, printTree } from './print-tree.ts';
export { serverNameText } from './server-name-text.ts';
export { canShakeHands, secureContextOptions, verifierOf } from './tls/index.ts';
export type { TlsPlan } from './tls/index.ts';
export { placedLocations } from './placed-locations.ts';
export type { PlacedLocation } from './placed-locations.ts';
