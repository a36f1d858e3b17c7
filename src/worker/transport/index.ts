export { acceptConnections, AcceptorClient } from './acceptor.ts';
export type { AcceptedAddress, FromAcceptor, ToAcceptor } from './acceptor.ts';
export { Admission } from './admission.ts';
export { Engines } from './engine.ts';
export { Heartbeat } from './heartbeat.ts';
export { NodeTransport } from './node/node-transport.ts';
export type { Opening, OpenPort, Transport } from './transport.ts';
export { UwsTransport } from './uws.ts';
