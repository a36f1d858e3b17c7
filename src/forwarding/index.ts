export {
  type ForwardingConfig,
  type NextCondition,
  plainForwarding,
  type ShownHeadersConfig,
  type TryingConfig,
} from './config.ts';
export {
  compileConnections,
  compileKnownTarget,
  type Provisioned,
  provisionForwarding,
} from './connections.ts';
export {
  confCommand,
  forwardingDirectives,
  loadedFile,
  shownHeadersDirectives,
  tlsDirectives,
  tlsVersions,
  tryingDirectives,
} from './directives/index.ts';
export { addressExplanation, addressModule, compileTlsName } from './address-module.ts';
export { cgiProtocol, compileParams, type ParamConfig, paramReader } from './cgi-params.ts';
export {
  type ExplainedLocation,
  explainForwarding,
  explainHttpRequest,
  unconnected,
  type Unconnected,
} from './explanation.ts';
export { compileForwarding, stickyFilter } from './handler.ts';
export type { HeaderRewrite, HeadWriter, Protocol, Target } from './protocol.ts';
export {
  applicableRules,
  checkedMethod,
  checkedValue,
  compileHttp2Head,
  type HeaderRule,
  headerRule,
  isEmptyBody,
  NOT_PASSED,
  passedTarget,
  queryOf,
  rewrittenTarget,
  sendable,
  withHops,
} from './request-head.ts';
export { asksForPieces } from './slice/compile-sliced.ts';
export { sliceRange } from './slice/pieces.ts';
export { type Try, upstreamFacts, type UpstreamFacts } from './tries.ts';
export { certificateFault, validateForwarding, validateTls, validateTlsFiles } from './validate.ts';
export { compileNamedGroup, namesFixedSocket } from './named-group.ts';
export { compileAddress, passAddress, type PassAddress } from './pass-address.ts';
