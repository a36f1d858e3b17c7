export { type BodyReader, CloseReader, LengthReader, MessageReader } from './message-reader.ts';
export type { Carrier, Carriers } from './carrier.ts';
export type { Connection } from './connection.ts';
export type { BodyFraming, Caller, ResponseReader } from './response-reader.ts';
export { Connector, type ConnectorSettings, type TlsSettings } from './connector.ts';
export { fetchText, type TextResponse, type TrustSettings } from './fetch-text.ts';
export { invalidResponse, LocalFault, UpstreamFault } from './fault.ts';
export { ConnectionWatch, Http2Connections } from './http2/index.ts';
export { readBuffer, SilenceTimer } from './socket-input.ts';
export { Connections } from './keepalive.ts';
export { readCgiHead, readCgiOrHttpHead, readHead, type ResponseHead, upgradeOf } from './response-head.ts';
export {
  type TlsConfig,
  passphrasesIn,
  tlsSettings,
  type TlsVersion,
  type LoadedFile,
} from './tls-settings.ts';
export { LateFault, withinTime } from './within-time.ts';
