export {
  type ComplexValue,
  constantText,
  directivesFor,
  type AnyRow,
  type ArgReader,
  type Context,
  type ReadScope,
  type Rows,
  AT,
  defines,
  pathFrom,
  privateFile,
  shares,
  uses,
  type NameKind,
  type NameRole,
  type PathRole,
} from './row.ts';
export { certificateCache } from './certificate-cache.ts';
export { bind, type BoundBlock, type BoundConfig, type BoundField, firstAt } from './bind.ts';
export { syntaxOf } from './choose-entry.ts';
export { isNginxVariable, refusalOf } from './refusals.ts';
export { type Compat, compatOf, isTellingHeader, skippingAdvice, type VariableUse } from './skipping.ts';
export { groupBy, BlockView, serverOf } from './block-view.ts';
export { byHeader, droppedIn, type Dropping, headerOf } from './header-lists.ts';
export { hostOf, isLocal, isName } from './host.ts';
export { oncePer } from './once-per.ts';
export { nearest, renaming } from './nearest.ts';
export { namePart, rolesOf } from './roles.ts';
export { Registry, type DirectiveEntry } from './registry.ts';
export { resolve, type ResolvedConfig, type ResolvedConfigs } from './resolve.ts';
export * as readers from './readers.ts';
export {
  guardRegexes,
  linearRegex,
  RegExpParser,
  translatePcre,
  visitRegExpAST,
  type AST,
  type RegexBounds,
  type TranslatedRegex,
} from './regex/index.ts';
export { readRegex, type ReadRegex } from './readers.ts';
export {
  combinedText,
  dumpConfig,
  maskedFiles,
  secretSpans,
  effectiveBlock,
  type EffectiveBlock,
  isPlainValue,
} from './dump.ts';
export { directiveFacts, factsOf, type DirectiveFacts, INCLUDE, referenceText } from './reference.ts';
export {
  addressBytes,
  wholeAddressBytes,
  canonicalAddress,
  contains,
  networkText,
  parseNetwork,
  type Network,
} from './network.ts';
