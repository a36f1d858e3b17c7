export {
  type CompiledGateway,
  compileGateway,
  type PortHandler,
  type PortTls,
  type TlsTarget,
} from './compile-gateway.ts';
export type { RequestNeeds, CompileWatch, WatchedPart } from './location-build.ts';
export { LocationLevel } from './location-tree.ts';
export { serverViews } from './view.ts';
export { ServerNames } from './server-names.ts';
