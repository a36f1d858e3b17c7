export type { Risk } from './cost.ts';
export { compileRegex, translatePcre } from './translate.ts';
export type { RegexFault, TranslatedRegex } from './translate.ts';
