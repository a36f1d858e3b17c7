export { compileGateway } from './compile-gateway.ts';
export type { CompiledGateway, CompileOptions, PortHandler } from './compile-gateway.ts';
export type { RequestNeeds } from './build.ts';
export type { PortTls, TlsTarget } from './port-tls.ts';
export { serverViews } from './view.ts';
