export { makePlan } from './make-plan.ts';
export { locationText, addressText, engineText, inOrder, printTree, serverNameText } from './plan-text.ts';
export type {
  GatewayPlan,
  HeadLimits,
  HeadRules,
  Http2Rules,
  LocationPlan,
  PortPlan,
  ServerPlan,
  VariablePlan,
} from './plan.ts';
export {
  findLocation,
  type LocalAddress,
  allLocations,
  placedLocations,
  type PlacedLocation,
} from './walk-plan.ts';
export {
  canShakeHands,
  certificatesOfFiles,
  secureContextOptions,
  sessionContextOf,
  shownOf,
  verifierOf,
  type TlsPlan,
} from './tls/index.ts';
