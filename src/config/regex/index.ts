export { RegExpParser, visitRegExpAST } from '@eslint-community/regexpp';
export type { AST } from '@eslint-community/regexpp';
export { guardRegexes, linearRegex, mostSteps } from './bounds.ts';
export type { RegexBounds } from './bounds.ts';
export { translatePcre } from './translate.ts';
export type { TranslatedRegex } from './translate.ts';
