import type { Rule } from '../../rule.ts';

/** TLS: GW5xx. */
export const TLS_RULES: readonly Rule[] = [];
