import type { RequestFacts } from './request.ts';
import type { ResponseSettings } from './response-settings.ts';
import type { BodyOutcome, PieceReceiver, Wire } from './wire.ts';

/** Largest body that can be read in one piece, whatever the configured limit: Node has no larger buffers. */
export const MOST_WHOLE_BYTES = 1_073_741_824;

/** The parts of an exchange that reading its body needs. */
interface RequestWithBody {
  readonly wire: Wire;
  request: RequestFacts;
  readonly rules: Pick<ResponseSettings, 'maxBodyBytes' | 'bodyTimeoutMs'>;
  readonly done: boolean;
  closing: boolean;
  end(status: number): void;
  refuseBody(): void;
}

/** The options for reading a body. If there is a receiver, it is read in pieces. */
interface TakeBodyOptions {
  readonly limitBytes?: number | undefined;
  readonly receive?: PieceReceiver | undefined;
}

/**
 * Reads a body, whole or in pieces. If it cannot be read, the client gets an error. The result is then `undefined`, as
 * it is when the client has closed the connection.
 */
export function takeBody(
  x: RequestWithBody,
  { limitBytes = Infinity, receive }: TakeBodyOptions,
): Promise<Buffer | undefined> {
  if (x.done) return Promise.resolve(undefined);
  const { maxBodyBytes, bodyTimeoutMs } = x.rules;
  const most = Math.min(limitBytes, maxBodyBytes || Infinity, receive ? Infinity : MOST_WHOLE_BYTES);
  return new Promise((resolve, reject) => {
    const settle = (outcome: BodyOutcome): void => {
      try {
        if (typeof outcome === 'string') refuseUnread(x, outcome);
        // Pieces may be useful after a response has begun: a stream has two directions.
        const isLost = typeof outcome === 'string' || (x.done && !receive);
        resolve(isLost ? undefined : outcome);
      } catch (error) {
        reject(error as Error);
      }
    };
    if (x.request.contentLength > most) settle('too large');
    else x.wire.readBody({ limitBytes: most, timeoutMs: bodyTimeoutMs, settle, receive, fail: reject });
  });
}

/**
 * After a 413 the rest of a body of known length is read and dropped, so that the client can read the response. The
 * connection is closed after a chunked body, which may never end.
 */
function refuseUnread(x: RequestWithBody, outcome: Exclude<BodyOutcome, Buffer>): void {
  if (outcome === 'timeout' || x.request.contentLength < 0) x.closing = true;
  if (outcome === 'timeout') {
    forgetBody(x);
    x.end(408);
  } else if (outcome === 'too large') x.refuseBody();
}

/**
 * Makes a request appear to have no body, because its own is refused or incomplete. The handler of the error page must
 * not wait for it (nginx).
 */
export function forgetBody(x: { request: RequestFacts }): void {
  x.request = { ...x.request, contentLength: 0 };
}
