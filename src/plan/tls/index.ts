export {
  canShakeHands,
  certificatesOfFiles,
  secureContextOptions,
  sessionContextOf,
  shownOf,
  type TlsPlan,
  verifierOf,
} from './tls-plan.ts';
export { planTls } from './tls-planner.ts';
