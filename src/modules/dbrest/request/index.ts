export { chooseSchema, negotiateJson, refuseUnserved } from './negotiation.ts';
export { BINARY_OPERATORS, SEARCH_OPERATORS } from './operators.ts';
export { parseReadQuery } from './query.ts';
export type { Filter, Operand, OrderTerm, ReadRequest, SelectItem, Truth } from './read-request.ts';
