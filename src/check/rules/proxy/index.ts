import type { Rule } from '../../../contract/index.ts';
import { PROXY_HEADER_RULES } from './headers.ts';
import { PROXY_UPSTREAM_RULES } from './upstreams.ts';
import { PROXY_URI_RULES } from './uri.ts';

/** Requests to upstreams. */
export const PROXY_RULES: readonly Rule[] = [
  ...PROXY_HEADER_RULES,
  ...PROXY_URI_RULES,
  ...PROXY_UPSTREAM_RULES,
];
