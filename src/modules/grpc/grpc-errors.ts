import type { Build } from '../../contract/index.ts';
import { type Exchange, type Handler, statusLine } from '../../http/index.ts';

/** Codes of gRPC (https://grpc.github.io/grpc/core/md_doc_statuscodes.html). */
const CODE = {
  UNKNOWN: 2,
  DEADLINE_EXCEEDED: 4,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

/** The gRPC codes of the gateway's own HTTP statuses. */
const CODES: Readonly<Record<number, number>> = {
  400: CODE.INTERNAL,
  401: CODE.UNAUTHENTICATED,
  403: CODE.PERMISSION_DENIED,
  404: CODE.UNIMPLEMENTED,
  405: CODE.UNIMPLEMENTED,
  408: CODE.DEADLINE_EXCEEDED,
  413: CODE.RESOURCE_EXHAUSTED,
  429: CODE.RESOURCE_EXHAUSTED,
  431: CODE.RESOURCE_EXHAUSTED,
  500: CODE.INTERNAL,
  501: CODE.UNIMPLEMENTED,
  502: CODE.UNAVAILABLE,
  503: CODE.UNAVAILABLE,
  504: CODE.DEADLINE_EXCEEDED,
};

/**
 * Compiles the responses to errors without an `error_page`. A gRPC call gets the code of the status, in a response that
 * has only a head ("Trailers-Only"); other requests get the built-in page.
 */
export function compileGrpcErrors(build: Build): Handler {
  build.needHeader('content-type');
  return (x) => {
    const status = x.errorStatus;
    if (!isCall(x)) {
      x.errorPagesEnded = true;
      return x.end(status);
    }
    x.errorStatus = 0;
    x.response.reason = undefined;
    x.response.setHeader('grpc-status', String(CODES[status] ?? CODE.UNKNOWN));
    x.response.setHeader('grpc-message', statusLine(status).slice(4) || `HTTP status ${status}`);
    x.send(200, 'application/grpc', '');
  };
}

/** Tells whether a request is a gRPC call: `application/grpc`, `application/grpc+proto` and so on. */
function isCall(x: Exchange): boolean {
  return /^application\/grpc(?:$|[+;\s])/i.test(x.header('content-type') ?? '');
}
