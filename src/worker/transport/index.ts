export { Engines } from './engine.ts';
export { NodeTransport } from './node/node-transport.ts';
export type { OpenPort, Transport } from './transport.ts';
export { UwsTransport } from './uws.ts';
