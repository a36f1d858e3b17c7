export { canShakeHands, planTls } from './plan-tls.ts';
export { secureContextOptions, verifierOf } from './tls-plan.ts';
export type { TlsPlan } from './tls-plan.ts';
