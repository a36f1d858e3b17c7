import type { Rule } from '../../rule.ts';
import { regexOrder } from './regex-order.ts';
import { regexShadowsPrefix } from './regex-shadows-prefix.ts';
import { unreachableLocation } from './unreachable-location.ts';

/** What locations and their regexes match. */
export const MATCHING_RULES: readonly Rule[] = [unreachableLocation, regexShadowsPrefix, regexOrder];
