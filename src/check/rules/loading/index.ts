import type { Rule } from '../../rule.ts';
import { unknownDirective } from './unknown-directive.ts';
import { badValue } from './bad-value.ts';
import { unusedSuppression } from './unused-suppression.ts';
import { badSuppression } from './bad-suppression.ts';

/** Syntax and loading: GW1xx. */
export const LOADING_RULES: readonly Rule[] = [unknownDirective, badValue, unusedSuppression, badSuppression];
