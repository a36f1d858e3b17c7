export { scanJson } from './json-scan.ts';
export type { JsonShape } from './json-scan.ts';
export { asJsonObject, parseCallBody, parseCallQuery } from './call-request.ts';
export type { CallInput, Texts, WholeType } from './call-request.ts';
export { BINARY_OPERATORS, SEARCH_OPERATORS } from './operators.ts';
export { parametersOf, parseReadQuery } from './query.ts';
export { turnsFor } from './turn.ts';
export type { Turn } from './turn.ts';
export { parseWriteQuery } from './write-query.ts';
export type { WriteQuery } from './write-query.ts';
export { readWritten } from './written-body.ts';
export type { ReceivedBody, WrittenBody } from './written-body.ts';
export { AGGREGATES, TRUTHS } from './read-request.ts';
export type {
  Aggregate,
  Field,
  Filter,
  JsonStep,
  Level,
  Logic,
  Operand,
  OrderTerm,
  ReadRequest,
  SelectedColumn,
  SelectedCount,
  SelectedEmbed,
  SelectItem,
  Truth,
  TypeName,
} from './read-request.ts';
