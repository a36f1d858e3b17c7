export { type ForwardingConfig, type TryingConfig } from './config.ts';
export {
  compileConnections,
  compileKnownTarget,
  type Provisioned,
  provisionForwarding,
} from './connections.ts';
export { forwardingDirectives, tlsDirectives } from './directives/index.ts';
export { type ExplainedLocation, explainForwarding, unconnected, type Unconnected } from './explanation.ts';
export { compileForwarding } from './handler.ts';
export type { HeaderRewrite, HeadWriter, Protocol, Target } from './protocol.ts';
export { asksForPieces } from './slice/compile-sliced.ts';
export { sliceRange } from './slice/slice-range.ts';
export { type Try, upstreamFacts, type UpstreamFacts } from './tries.ts';
export { validateBuffers } from './validate.ts';
