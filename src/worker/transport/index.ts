export { UwsTransport } from './uws.ts';
export type { OpenPort } from './uws.ts';
