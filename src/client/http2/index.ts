export { Http2Connections } from './http2-connections.ts';
export { ConnectionWatch } from './connection-watch.ts';
