export {
  acceptConnections,
  type AcceptedAddress,
  AcceptorClient,
  type AcceptorStart,
  type FromAcceptor,
  type ToAcceptor,
} from './uws/acceptor.ts';
export { Admission } from './admission.ts';
export { Engines } from './engines.ts';
export { Heartbeat, type Opening, type OpenPort, type Transport } from './transport.ts';
export { NodeTransport } from './node/node-transport.ts';
export { UwsTransport } from './uws/uws-transport.ts';
