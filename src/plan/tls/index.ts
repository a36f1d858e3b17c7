export {
  canShakeHands,
  secureContextOptions,
  sessionContextOf,
  type TlsPlan,
  verifierOf,
} from './tls-plan.ts';
export { planTls } from './tls-planner.ts';
