export { acceptsGzip } from './accepts-gzip.ts';
export { answerFault } from './answer-fault.ts';
export { EngineTransform } from './engine-transform.ts';
export { Exchange } from './exchange.ts';
export type {
  AccessCheck,
  AnsweredSubrequest,
  AnswerRules,
  BodyFilter,
  Getter,
  Handler,
  HeaderFilter,
  LogStep,
  PieceReceiver,
  Router,
} from './exchange.ts';
export type { Denial, SubrequestFacts, Verdict } from './answer-rules.ts';
export type { ExchangeState, RemoteFacts } from './exchange-state.ts';
export { Subrequest } from './subrequest.ts';
export type { BodyTransform, Transformed } from './body-filter.ts';
export type { ClientCertificate, ConnectionFacts, ProxyProtocolFacts, TlsFacts } from './connection-facts.ts';
export type { ConnectionRules, LingeringRules } from './connection-rules.ts';
export type { ResponseStream } from './response-stream.ts';
export type { PortFacts, RequestFacts } from './request-facts.ts';
export { Handover } from './handover.ts';
export { HttpFault } from './http-fault.ts';
export { compileRegex } from './regex/index.ts';
export type { Regex } from './regex/index.ts';
export { hasForbiddenBytes, isSafeHeaderName, isSafeHeaderValue, withoutBlanks } from './header-line.ts';
export { parseHost } from './host.ts';
export { encodeLocation } from './location-header.ts';
export { decodeComponent, encodeArgument, encodePath, isValidQuery, normalizePath } from './path.ts';
export { builtInPage, statusLine } from './status.ts';
export { isOwnName, readRefusal, SITE_HEADERS, writeRefusal } from './own-site.ts';
export type { KnowsHost } from './own-site.ts';
export { charsetOf, mediaTypeOf, mediaTypeTest } from './media-type.ts';
export { methodRefusal } from './method.ts';
export { isMsie6 } from './user-agent.ts';
export { becomesAnother, weakenEtag } from './weak-etag.ts';
export { logContext } from './log-context.ts';
