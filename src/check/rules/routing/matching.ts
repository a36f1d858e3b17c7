import type { Rule } from '../../rule.ts';
import { caseSensitiveRegex } from './case-sensitive-regex.ts';
import { regexOrder } from './regex-order.ts';
import { regexRedos } from './regex-redos.ts';
import { regexShadowsPrefix } from './regex-shadows-prefix.ts';
import { unanchoredRegex } from './unanchored-regex.ts';
import { unreachableLocation } from './unreachable-location.ts';

/** What locations and their regexes match. */
export const MATCHING_RULES: readonly Rule[] = [
  unreachableLocation,
  regexShadowsPrefix,
  regexOrder,
  unanchoredRegex,
  regexRedos,
  caseSensitiveRegex,
];
