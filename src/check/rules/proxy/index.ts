import type { Rule } from '../../rule.ts';

/** Requests to upstreams: GW4xx. */
export const PROXY_RULES: readonly Rule[] = [];
