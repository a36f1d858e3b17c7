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
  forwardingDirectives,
  shownHeadersDirectives,
  tlsDirectives,
  tryingDirectives,
} from './directives/index.ts';
export { addressExplanation } from './explain-address.ts';
export { addressModule, compileTlsName } from './address-module.ts';
export { cgiProtocol } from './cgi-protocol.ts';
export { type ExplainedLocation, explainForwarding, unconnected, type Unconnected } from './explanation.ts';
export { compileForwarding } from './handler.ts';
export type { HeaderRewrite, HeadWriter, Protocol, Target } from './protocol.ts';
export { explainHttpRequest } from './explain-request.ts';
export {
  applicableRules,
  checkedValue,
  type HeaderRule,
  headerRule,
  NOT_PASSED,
  withHops,
} from './header-rules.ts';
export { compileHttp2Head } from './http2-head.ts';
export { checkedMethod, passedTarget, queryOf, rewrittenTarget, sendable } from './request-target.ts';
export { asksForPieces } from './slice/compile-sliced.ts';
export { sliceRange } from './slice/slice-range.ts';
export { type Try, upstreamFacts, type UpstreamFacts } from './tries.ts';
export { validateForwarding, validateTls } from './validate.ts';
export { stickyFilter } from './balancing-input.ts';
export { compileNamedGroup, namesFixedSocket } from './named-group.ts';
export { compileParams, type ParamConfig, paramReader } from './params.ts';
export { compileAddress, passAddress, type PassAddress } from './pass-address.ts';
