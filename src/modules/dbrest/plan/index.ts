export {
  type Cast,
  type Context,
  type ReadTarget,
  isInert,
  mediaHandlersOf,
  type Condition,
  type Embed,
  type Output,
  type ReadNode,
  type ReadPlan,
  type Sort,
  type Value,
} from './node.ts';
export { planCall, type CallPlan, type CallRequest } from './call.ts';
export { hasEmbeds, planRead, planRows } from './read.ts';
export {
  planDelete,
  planInsert,
  planPut,
  planUpdate,
  writtenTable,
  type BodyShape,
  type WriteRequest,
  type Conflict,
  type PlannedWrite,
  type TouchedRows,
  type WritePlan,
  type Written,
  type WrittenColumn,
} from './write.ts';
