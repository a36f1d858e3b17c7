import { createHash } from 'node:crypto';
import type { ResponseHead } from '../../client/index.ts';
import { detachedFrom, type Exchange, failRequest, type ResponseStream } from '../../http/index.ts';
import { CHUNKED } from '../../http1/index.ts';
import { type BodyTaker, Relay, UNPACED } from '../../bodies/index.ts';
import type { FetchMode } from './cached-request.ts';
import type { Delivery, ResponseKeeper, StoredSource, Storing } from './response-keeper.ts';

/** Responds to a request. */
type Respond = (x: Exchange) => void | Promise<void>;

/**
 * Fetches a response of a module like that of an origin: `respond` gets a request without a client, and its response
 * may be stored. A response with status 200 that is sent as a whole gets a strong `ETag` of its body.
 */
export function fetchOwn(
  x: Exchange,
  { keeper, method = x.method }: FetchMode,
  { respond, storing }: { readonly respond: Respond; readonly storing: () => Storing },
): void | Promise<void> {
  if (!keeper) return respond(x);
  const made = new OwnResponse(x, keeper, storing);
  const copy = detachedFrom(x, method, {
    receiver: made,
    rules: { filters: [], bodyFilters: [], ranges: {} },
  });
  copy.response.changeRate({ bytesPerSecond: 0 });
  made.begin(copy);
  const fail = (error: unknown): void => failRequest(copy, error);
  try {
    return respond(copy)?.catch(fail);
  } catch (error) {
    fail(error);
  }
}

/** Receives a response as it is made, and gives it to the keeper. */
class OwnResponse implements StoredSource {
  readonly trailers: readonly string[] = [];
  readonly storing: () => Storing;
  readonly #x: Exchange;
  readonly #keeper: ResponseKeeper;
  #copy: Exchange | undefined = undefined;
  #taker: BodyTaker | undefined = undefined;
  #isOver = false;
  #paused: PromiseWithResolvers | undefined = undefined;

  constructor(x: Exchange, keeper: ResponseKeeper, storing: () => Storing) {
    this.#x = x;
    this.#keeper = keeper;
    this.storing = storing;
  }

  begin(copy: Exchange): void {
    this.#copy = copy;
    this.#x.onAbort(() => this.#taker?.drop());
  }

  whole(body: string | Uint8Array): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body);
    if (!this.#take(bytes.length, etagOf(bytes))) return;
    if (bytes.length > 0) this.#taker?.piece(bytes);
    this.#end();
  }

  opens(): ResponseStream | undefined {
    if (!this.#take(CHUNKED)) return undefined;
    return {
      write: (chunk) => {
        this.#taker?.piece(typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk));
        return this.#paused === undefined;
      },
      drained: () => this.#paused?.promise ?? Promise.resolve(),
      end: () => this.#end(),
    };
  }

  /** Without a head, there is no response; after the head, the rest is missing. */
  closes(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#taker) this.#taker.cut();
    else if (!this.#keeper.fails(502, 'error')) this.#x.abort();
  }

  pause(): void {
    this.#paused ??= withResolvers();
  }

  resume(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
  }

  withdraw(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.resume();
    this.#copy?.leave();
  }

  /** False: the body is not needed. */
  #take(bodyBytes: number, etag?: string): boolean {
    const { status, response } = this.#copy as Exchange;
    const headers = [...(response.headers ?? [])];
    if (response.type !== '') headers.push('Content-Type', response.type);
    if (etag !== undefined && status === 200 && response.header('ETag') === undefined)
      headers.push('ETag', etag);
    const head: ResponseHead = {
      status,
      reason: response.reason ?? '',
      headers,
      isPlain: false,
      bodyBytes,
      announcedBytes: bodyBytes === CHUNKED ? -1 : bodyBytes,
      keepsAlive: true,
    };
    this.#taker = this.#keeper.take(this.#x, head, this);
    return this.#taker !== undefined;
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#taker?.end();
  }
}

interface PromiseWithResolvers {
  readonly promise: Promise<void>;
  resolve(): void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

function etagOf(bytes: Buffer): string {
  return `"${createHash('sha1').update(bytes).digest('base64url')}"`;
}

/** Maximum bytes kept for a slow client before the response has to wait. */
const AHEAD_BYTES = 524_288;
/** Headers that the engine writes. */
const OF_ENGINE: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'transfer-encoding',
  'date',
]);

/** Sends a module's response unchanged. */
export const ownDelivery: Delivery = {
  accept(x, head, source) {
    const { headers } = head;
    let contentType = '';
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] as string;
      const value = headers[index + 1] as string;
      if (/^content-type$/i.test(name)) contentType = value;
      else if (!OF_ENGINE.has(name.toLowerCase())) x.response.setHeader(name, value);
    }
    if (head.reason !== '') x.response.setReason(head.reason);
    return { head, contentType, source, isBuffered: true, readAheadBytes: AHEAD_BYTES, pace: UNPACED };
  },
  pass(x, { head, contentType, source, readAheadBytes }) {
    const { status, announcedBytes: lengthBytes } = head;
    return new Relay(x, source, { status, contentType, lengthBytes, readAheadBytes });
  },
};
