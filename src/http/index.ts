export { headBytes } from './head-bytes.ts';
export { cleanHeaderValue, isSafeHeaderName, isSafeHeaderValue } from '../http1/index.ts';
export {
  type Codec,
  type Compression,
  compressionFilter,
  compressionTest,
  compressor,
  isUncoded,
  varyByEncoding,
} from './compression.ts';
export { acceptsCoding, isMsie6, methodRefusal } from './request-head.ts';
export {
  CHARSET_OVERRIDE,
  charsetOf,
  CONFIGURED_TYPE,
  KEPT_TYPE,
  mediaTypeTest,
  RANGED,
} from './response-type.ts';
export { failRequest } from './fail-request.ts';
export { EngineTransform, type BodyTransform } from './body-transform.ts';
export { markTransformed, weakenEtag } from './transformed.ts';
export {
  type BodyFilter,
  type RangeRules,
  Exchange,
  type ExchangeWatch,
  type Handler,
  type ResponseRules,
  type Router,
} from './exchange.ts';
export type { AccessCheck, Denial, Getter, HeaderFilter, LogStep, Verdict } from './steps.ts';
export { type BodyOutcome, type BodyReader, type PieceReceiver, roomFor, type Wire } from './wire.ts';
export type { ConnectionRules, LingeringRules } from './response-settings.ts';
export { detachedFrom, type NewConnection, unsentRequest } from './detached.ts';
export { compileNamedFile, namedFile, type NamedFile } from './named-file.ts';
export { subrequestOf } from './subrequest.ts';
export {
  compileConditions,
  type Conditions,
  matchesEntityTag,
  parseHttpDate,
  type Validators,
  validatorsOf,
} from './conditions.ts';
export { type FileBody, singleBody } from './ranges.ts';
export { compileRanges, isPlain, partialBody, type Ranges, refuseRange } from './range-response.ts';
export { forgetBody, MOST_WHOLE_BYTES } from './take-body.ts';
export { cookieTime, FAR_COOKIE_TIME } from './cookie-time.ts';
export { changeRate, rateOf } from './rate.ts';
export { stateKey } from './request-state.ts';
export { isLimitedAlike, meetLimit } from './method-limits.ts';
export {
  beginRewritePhase,
  changeRewritePhase,
  rewritePhaseOf,
  settleRewritePhase,
} from './rewrite-phase.ts';
export type {
  ClientCertificate,
  ConnectionFacts,
  PortFacts,
  ProxyProtocolFacts,
  RemoteFacts,
  RequestFacts,
  Rehearsed,
  SubrequestFacts,
  TlsFacts,
} from './request-facts.ts';
export { requestLineOf } from './request-facts.ts';
export { type ResponseStream, writePieces } from './response-stream.ts';
export { Handover } from './handover.ts';
export { escapeMarkup } from './markup.ts';
export { hasNoBody, HttpFault, statusLine, statusOnWire, usualReason } from './status.ts';
export { compileRegex, type Regex } from './regex/index.ts';
export {
  parseHost,
  decodeComponent,
  encodeArgument,
  encodeLocation,
  encodePath,
  isValidQuery,
  normalizePath,
  splitTarget,
} from './uri.ts';
export {
  compileRead,
  compileReadGate,
  isOwnName,
  isRead,
  type KnowsHost,
  SITE_HEADERS,
  writeRefusal,
} from './own-site.ts';
export { logContext } from './log-context.ts';
export { forwardedAddress } from './forwarded-address.ts';
export { headerVariableOf } from './header-list.ts';
export { DATE_FORMAT } from './date-format.ts';
export { byteText, CONNECTION_FIELDS, SINGLE_FIELDS } from './http2-fields.ts';
