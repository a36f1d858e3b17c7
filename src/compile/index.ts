export { compileGateway } from './compile-gateway.ts';
export type { CompiledGateway, CompileOptions, PortHandler } from './compile-gateway.ts';
export type { RequestNeeds } from './build.ts';
export type { PortTls, TlsTarget } from './port-tls.ts';
export { LocationLevel } from './location-tree.ts';
export type { Found, Place } from './location-tree.ts';
export { serverViews } from './view.ts';
export { ServerNames } from './server-names.ts';
export type { CompileWatch, WatchedPart } from './watch.ts';
