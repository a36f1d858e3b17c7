import type { Rule } from '../../rule.ts';
import { aliasTraversal } from './alias-traversal.ts';
import { statusExposed } from './status-exposed.ts';

/** Holes: GW3xx. */
export const SECURITY_RULES: readonly Rule[] = [aliasTraversal, statusExposed];
