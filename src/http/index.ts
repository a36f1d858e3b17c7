export {
  acceptsGzip,
  hasForbiddenBytes,
  isSafeHeaderName,
  isSafeHeaderValue,
  withoutBlanks,
  charsetOf,
  mediaTypeOf,
  mediaTypeTest,
  methodRefusal,
  isMsie6,
} from './head.ts';
export { answerFault } from './answer-fault.ts';
export {
  EngineTransform,
  type BodyTransform,
  type Transformed,
  becomesAnother,
  weakenEtag,
} from './body-filter.ts';
export {
  Exchange,
  type AccessCheck,
  type AnsweredSubrequest,
  type AnswerRules,
  type BodyFilter,
  type Getter,
  type Handler,
  type HeaderFilter,
  type LogStep,
  type PieceReceiver,
  type Router,
} from './exchange.ts';
export type { Denial, SubrequestFacts, Verdict, ConnectionRules, LingeringRules } from './answer-rules.ts';
export type { ExchangeState, RemoteFacts } from './exchange-state.ts';
export { Subrequest } from './subrequest.ts';
export type {
  ClientCertificate,
  ConnectionFacts,
  ProxyProtocolFacts,
  TlsFacts,
  PortFacts,
  RequestFacts,
} from './request-facts.ts';
export type { ResponseStream } from './response-stream.ts';
export { Handover } from './handover.ts';
export { escapeMarkup } from './markup.ts';
export { HttpFault, builtInPage, statusLine } from './status.ts';
export { compileRegex, type Regex } from './regex/index.ts';
export {
  parseHost,
  encodeLocation,
  decodeComponent,
  encodeArgument,
  encodePath,
  isValidQuery,
  normalizePath,
} from './uri.ts';
export { isOwnName, readRefusal, SITE_HEADERS, writeRefusal, type KnowsHost } from './own-site.ts';
export { logContext } from './log-context.ts';
