import type { Rule } from '../../rule.ts';

/** The key-value store: GW7xx. */
export const KV_RULES: readonly Rule[] = [];
