export type { FromWorker, Openings, Shipment, ToWorker, WorkerStart } from './messages.ts';
export { RESTARTS } from './restarts.ts';
export { SettledMemory } from './release-memory.ts';
export { OwnedResources, SharedResources } from './resources.ts';
export { ThreadLog } from './thread-log.ts';
export type { AcceptedAddress, FromAcceptor, Opening, ToAcceptor } from './transport/index.ts';
