export { Http2Connections } from './http2-connections.ts';
