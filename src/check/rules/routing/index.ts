import type { Rule } from '../../rule.ts';

/** Which server and location answers: GW2xx. */
export const ROUTING_RULES: readonly Rule[] = [];
