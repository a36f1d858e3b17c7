import type { BoundBlock, ResolvedConfigs } from '../config/index.ts';
import type { ServerPlan } from './plan.ts';

/** A server with what its ports need to know of it. */
export interface PlannedServer {
  readonly plan: ServerPlan;
  readonly level: ResolvedConfigs;
  readonly block: BoundBlock;
}
