import type { Rule } from '../../rule.ts';

/** REST over PostgreSQL: GW6xx. */
export const DBREST_RULES: readonly Rule[] = [];
