import type { ModuleRule } from '../../../contract/index.ts';
import type { ProxyConfig } from '../config.ts';
import { CACHE_KEY_RULES } from './cache-keys.ts';
import { CACHE_PRIVACY_RULES } from './cache-privacy.ts';
import { CACHE_USE_RULES } from './cache-use.ts';
import { PROXY_HEADER_RULES } from './headers.ts';
import { SLICE_RULES } from './slices.ts';
import { PROXY_URI_RULES } from './uri.ts';
import { PROXY_UPSTREAM_RULES } from './upstreams.ts';

/** The rules about requests to upstreams, and about their stored responses. */
export const rules: readonly ModuleRule<ProxyConfig>[] = [
  ...PROXY_HEADER_RULES,
  ...PROXY_URI_RULES,
  ...PROXY_UPSTREAM_RULES,
  ...CACHE_KEY_RULES,
  ...CACHE_PRIVACY_RULES,
  ...CACHE_USE_RULES,
  ...SLICE_RULES,
];
