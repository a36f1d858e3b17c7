export { indentAt, lineOf, placeOf, placeText, type Source, type Span } from './source.ts';
export {
  partOfWord,
  printableWord,
  spanInWord,
  type Word,
  type DirectiveNode,
  type ConfigTree,
  writtenText,
} from './tree.ts';
export {
  edited,
  Report,
  type Fault,
  type FaultDetails,
  type Fix,
  type RelatedPlace,
  type Severity,
  type TextEdit,
} from './diagnostic.ts';
export {
  cellOf,
  paintsFor,
  takesColor,
  type Paints,
  excerptOf,
  formatFault,
  formatFaults,
  type PrintOptions,
  printable,
} from './format-fault.ts';
export {
  filesOfDump,
  type DumpedFiles,
  decodeText,
  globPaths,
  isGlob,
  matchesGlob,
  type Glob,
  readFileBytes,
  type ReadFile,
} from './files.ts';
export { splitValue, type ValuePart, variablesIn } from './value.ts';
export { lengthened, lineBefore, lineBehind, removed, reworded } from './edits.ts';
export { namesText, shown } from './messages.ts';
export { checkSyntax, outlineOf } from './parser.ts';
export { buildConfig, parsePayload, type ParseOptions, type Payload, type Statement } from './crossplane.ts';
export { piecesOf, type Piece } from './words.ts';
export { formatConfig, minifyConfig } from './format-config.ts';
export { loadTree, type LoadOptions } from './load-tree.ts';
