export { answerFault } from './answer-fault.ts';
export { Exchange } from './exchange.ts';
export type {
  AnswerRules,
  Getter,
  Handler,
  HeaderFilter,
  LogStep,
  PortFacts,
  RequestFacts,
  ResponseStream,
} from './exchange.ts';
export { HttpFault } from './http-fault.ts';
export { hasForbiddenBytes, isSafeHeaderName, isSafeHeaderValue } from './header-line.ts';
export { parseHost } from './host.ts';
export { encodeLocation } from './location-header.ts';
export { decodeComponent, encodePath, isValidQuery, normalizePath } from './path.ts';
export { builtInPage, statusLine } from './status.ts';
export { logContext } from './log-context.ts';
