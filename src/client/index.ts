export { type BodyReader, CloseReader, LengthReader } from './body-reader.ts';
export type { Connection } from './connection.ts';
export type { BodyFraming, Caller, ResponseReader } from './response-reader.ts';
export { Connector, type ConnectorSettings, type TlsSettings } from './connector.ts';
export { UpstreamFault } from './fault.ts';
export { readBuffer } from './inlet.ts';
export { Connections } from './keepalive.ts';
export { readHead, type ResponseHead } from './response-head.ts';
export { type TlsConfig, tlsSettings, type TlsVersion, type LoadedFile } from './tls-settings.ts';
