export { headBytes } from './response-head.ts';
export {
  cleanHeaderValue,
  hasNoBody,
  isSafeHeaderName,
  isSafeHeaderValue,
  methodRefusal,
} from '../http1/index.ts';
export {
  acceptsCoding,
  type Codec,
  type Compression,
  compressionFilter,
  compressionTest,
  compressor,
  isUncoded,
  varyByEncoding,
} from './compression.ts';
export {
  CHARSET_OVERRIDE,
  charsetOf,
  CONFIGURED_TYPE,
  isEventStream,
  KEPT_TYPE,
  mediaTypeTest,
  RANGED,
} from './response-type.ts';
export { failRequest, logContext, noteSqlstate } from './fail-request.ts';
export { tracedBy } from './logged-request.ts';
export {
  compilePhasesOf,
  phasesOf,
  type RequestPhases,
  type TimedPart,
  watchPhases,
} from './request-phases.ts';
export { randomId, requestId } from './request-id.ts';
export { type BodyTransform, EngineTransform, Handover } from './body-transform.ts';
export { cookieTime, DATE_FORMAT, FAR_COOKIE_TIME, parseHttpDate } from './dates.ts';
export {
  compileConditions,
  type Conditions,
  markTransformed,
  matchesEntityTag,
  type Validators,
  validatorsOf,
  weakenEtag,
} from './conditions.ts';
export {
  type BodyFilter,
  type RangeRules,
  Exchange,
  type ExchangeWatch,
  type Handler,
  type ResponseRules,
  type Router,
} from './exchange.ts';
export {
  type AccessCheck,
  type Denial,
  type Getter,
  type HeaderFilter,
  isLimitedAlike,
  type LogStep,
  meetLimit,
  refuse,
  sendDenial,
  type Verdict,
} from './location-steps.ts';
export { type BodyOutcome, type BodyReader, type PieceReceiver, type Wire } from './wire.ts';
export type { ConnectionRules, LingeringRules } from './response-settings.ts';
export { detachedFrom, type NewConnection, subrequestOf, unsentRequest } from './derived-requests.ts';
export { compileNamedFile, namedFile, type NamedFile } from './named-file.ts';
export {
  compileRanges,
  type FileBody,
  isPlain,
  partialBody,
  type Ranges,
  refuseRange,
  singleBody,
} from './ranges.ts';
export { forgetBody, MOST_WHOLE_BYTES } from './take-body.ts';
export {
  type ClientCertificate,
  type ConnectionFacts,
  type PortFacts,
  type ProxyProtocolFacts,
  type Rehearsed,
  type RemoteFacts,
  type RequestFacts,
  requestLineOf,
  stateKey,
  type SubrequestFacts,
  type TlsFacts,
} from './request.ts';
export { type ResponseStream, writePieces } from './response-stream.ts';
export { escapeMarkup, HttpFault, isMsie6, statusLine, statusOnWire, usualReason } from './status.ts';
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
} from './cross-site.ts';
export { forwardedAddress, TRUSTED_PEER } from './forwarded-address.ts';
export {
  byteText,
  CONNECTION_FIELDS,
  firstOf,
  headerVariableOf,
  MOST_SENT_HEAD_BYTES,
  quotable,
  SINGLE_FIELDS,
} from './header-list.ts';
export { END_STREAM, HTTP2_CODES } from './http2-codes.ts';
export { randomDigits, randomWord } from './random.ts';
export { elapsedMs, headSent, latencyMs } from './request-times.ts';
export {
  type AttributeValue,
  beginSpan,
  type ChildSpan,
  type RequestTrace,
  type Span,
  type SpanRecorder,
  timedSpan,
  type Traced,
  traceparentOf,
  UNTRACED,
} from './trace.ts';
export { addBalances, secondsUntilWhole, tellBalances } from './rate-limit-headers.ts';
