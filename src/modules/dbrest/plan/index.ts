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
} from './read-plan.ts';
export { planCall, type CallPlan, type CallRequest } from './plan-call.ts';
export { hasEmbeds, planRead, planRows } from './plan-node.ts';
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
} from './plan-write.ts';
