import type { Rule } from '../../rule.ts';
import { kvWritePublic } from './write-public.ts';

/** The key-value store: GW7xx. */
export const KV_RULES: readonly Rule[] = [kvWritePublic];
