import type { Rule } from '../../rule.ts';
import { regexOrder } from './regex-order.ts';
import { unreachableLocation } from './unreachable-location.ts';

/** Which server and location answers: GW2xx. */
export const ROUTING_RULES: readonly Rule[] = [unreachableLocation, regexOrder];
