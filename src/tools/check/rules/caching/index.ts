import type { Rule } from '../../../../contract/index.ts';
import { CACHE_KEY_RULES } from './keys.ts';
import { CACHE_PRIVACY_RULES } from './privacy.ts';
import { CACHE_PURGE_RULES } from './purging.ts';
import { SLICE_RULES } from './slices.ts';
import { CACHE_USE_RULES } from './use.ts';

/** The rules about stored responses of upstreams, whatever their protocol. */
export const CACHING_RULES: readonly Rule[] = [
  ...CACHE_KEY_RULES,
  ...CACHE_PRIVACY_RULES,
  ...CACHE_USE_RULES,
  ...SLICE_RULES,
  ...CACHE_PURGE_RULES,
];
