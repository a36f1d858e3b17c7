export type { FromWorker, Shipment, ToWorker, WorkerStart } from './messages.ts';
export { OwnedResources, SharedResources } from './resources.ts';
export { ThreadLog } from './thread-log.ts';
