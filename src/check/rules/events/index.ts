import type { Rule } from '../../rule.ts';

/** Worker events and the operator surface: GW8xx. */
export const EVENTS_RULES: readonly Rule[] = [];
