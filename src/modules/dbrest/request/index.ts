export { asJsonObject, parseCallBody, parseCallQuery } from './call-request.ts';
export type { CallInput, Texts, WholeType } from './call-request.ts';
export { BINARY_OPERATORS, SEARCH_OPERATORS } from './operators.ts';
export { parseReadQuery } from './query.ts';
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
export { wholeBody } from './whole-body.ts';
