export { scanJson, type JsonShape } from './json.ts';
export {
  asJsonObject,
  parseCallBody,
  parseCallQuery,
  type CallInput,
  type Texts,
  type WholeType,
} from './call.ts';
export { BINARY_OPERATORS, SEARCH_OPERATORS } from './filter.ts';
export { parametersOf, parseReadQuery } from './query.ts';
export {
  parseWriteQuery,
  type WriteQuery,
  readWritten,
  type ReceivedBody,
  type WrittenBody,
} from './write.ts';
export {
  AGGREGATES,
  TRUTHS,
  type Aggregate,
  type Field,
  type Filter,
  type JsonStep,
  type Level,
  type Logic,
  type Operand,
  type OrderTerm,
  type ReadRequest,
  type SelectedColumn,
  type SelectedCount,
  type SelectedEmbed,
  type SelectItem,
  type Truth,
  type TypeName,
} from './tree.ts';
