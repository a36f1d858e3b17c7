export { Channels, readNotification, type RingNotification } from './channels.ts';
export { compileCostGuard, type CostGuard, type Estimation } from './cost-guard.ts';
export { Database, type RestDatabase } from './database.ts';
export { genericPlan } from './generic-plan.ts';
export { Listener } from './listening.ts';
export { catalogueSteps } from './own-reads.ts';
export { hasOldPlan } from './recovery.ts';
