import type { Rule } from '../../rule.ts';
import { unexpectedToken } from './unexpected-token.ts';
import { missingSemicolon } from './missing-semicolon.ts';
import { unclosedBlock } from './unclosed-block.ts';
import { unclosedQuote } from './unclosed-quote.ts';
import { unknownDirective } from './unknown-directive.ts';
import { wrongContext } from './wrong-context.ts';
import { wrongArity } from './wrong-arity.ts';
import { badValue } from './bad-value.ts';
import { duplicateDirective } from './duplicate-directive.ts';
import { includeMissing } from './include-missing.ts';
import { includeCycle } from './include-cycle.ts';
import { unknownVariable } from './unknown-variable.ts';
import { badRegex } from './bad-regex.ts';
import { badReference } from './bad-reference.ts';
import { captureMissing } from './capture-missing.ts';
import { deprecated } from './deprecated.ts';
import { ignoredDirective } from './ignored-directive.ts';
import { unsupportedModule } from './unsupported-module.ts';
import { envMissing } from './env-missing.ts';
import { secretFile } from './secret-file.ts';
import { unusedSuppression } from './unused-suppression.ts';
import { badSuppression } from './bad-suppression.ts';
import { unitPitfall } from './unit-pitfall.ts';

/** Syntax and loading: GW1xx. */
export const LOADING_RULES: readonly Rule[] = [
  unexpectedToken,
  missingSemicolon,
  unclosedBlock,
  unclosedQuote,
  unknownDirective,
  wrongContext,
  wrongArity,
  badValue,
  duplicateDirective,
  includeMissing,
  includeCycle,
  unknownVariable,
  badRegex,
  badReference,
  captureMissing,
  deprecated,
  ignoredDirective,
  unsupportedModule,
  envMissing,
  secretFile,
  unusedSuppression,
  badSuppression,
  unitPitfall,
];
