export { compileGateway, type CompiledGateway, type PortHandler } from './compile-gateway.ts';
export type { RequestNeeds, CompileWatch, WatchedPart } from './build.ts';
export type { PortTls, TlsTarget } from './port-tls.ts';
export { LocationLevel } from './location-tree.ts';
export { serverViews } from './view.ts';
export { ServerNames } from './server-names.ts';
