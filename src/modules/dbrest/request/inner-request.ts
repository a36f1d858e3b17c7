import type { LocationFacts } from '../../../contract/index.ts';
import { detachedFrom, type Exchange, normalizePath, type ResponseStream } from '../../../http/index.ts';
import { notServedHere } from '../fault/index.ts';

/** A request that the body of another one describes. */
export interface InnerRequest {
  readonly method: string;
  /** The decoded path below the location: `/items`. */
  readonly path: string;
  /** The path as written. */
  readonly rawPath: string;
  /** The raw query. */
  readonly args: string;
  /** Headers in lower case: name, value, name, value … */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/**
 * Headers that belong to a single request. An inner request has only its own ones. All other headers are those of the
 * outer request, so that an inner request cannot forge what a proxy says about the client.
 */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-profile',
  'content-encoding',
  'content-length',
  'content-profile',
  'content-type',
  'expect',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'prefer',
  'range',
  'range-unit',
  'transfer-encoding',
  'x-http-method-override',
]);

/** The body of a response that is kept in memory, up to a number of bytes. Bytes beyond it are only counted. */
export class KeptBody {
  /** The size of the whole body so far. */
  bytes = 0;
  /** True if the body has more bytes than may be kept. */
  isCut = false;
  #pieces: Buffer[] = [];
  #roomBytes: number;

  constructor(mostBytes: number) {
    this.#roomBytes = mostBytes;
  }

  get content(): Buffer {
    return this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
  }

  add(chunk: string | Uint8Array): void {
    const bytes = Buffer.from(chunk as Uint8Array);
    this.bytes += bytes.byteLength;
    const kept = bytes.subarray(0, this.#roomBytes);
    if (kept.byteLength < bytes.byteLength) this.isCut = true;
    if (kept.byteLength === 0) return;
    this.#roomBytes -= kept.byteLength;
    this.#pieces.push(kept);
  }

  /** Frees the bytes kept so far. */
  drop(): void {
    this.#pieces = [];
  }

  /** Returns a stream that passes each chunk to `take`. */
  static stream(take: (chunk: string | Uint8Array) => void): ResponseStream {
    return {
      write: (chunk) => {
        take(chunk);
        return true;
      },
      drained: () => Promise.resolve(),
      end: () => undefined,
    };
  }
}

/** Keeps a response in memory, if it is not too large. */
export class KeptResponse {
  /** True if the rest of the response is missing, mostly because it has more bytes than may be kept. */
  outgrown = false;
  readonly #body: KeptBody;
  #isHead = false;
  #x: Exchange | undefined = undefined;

  constructor(mostBytes: number) {
    this.#body = new KeptBody(mostBytes);
  }

  begin(x: Exchange): void {
    this.#x = x;
    this.#isHead = x.request.method === 'HEAD';
  }

  get body(): Buffer {
    return this.#body.content;
  }

  whole(body: string | Uint8Array): void {
    if (!this.#isHead && body.length > 0) this.#keep(body);
  }

  opens(): ResponseStream | undefined {
    return this.#isHead ? undefined : KeptBody.stream((chunk) => this.#keep(chunk));
  }

  closes(): void {
    this.outgrown = true;
  }

  /** Cancels a response that is too large as if its client had gone, which cancels its query. */
  #keep(chunk: string | Uint8Array): void {
    if (this.outgrown) return;
    this.#body.add(chunk);
    if (!this.#body.isCut) return;
    this.outgrown = true;
    this.#body.drop();
    if (this.#x) leave(this.#x);
  }
}

/** The location of inner requests. */
interface InnerLocation {
  /** The path of the location without its last slash. */
  readonly base: string;
  /** The same path as the client wrote it, before any rewrite. */
  readonly shownBase: string;
  readonly mostBytes: number;
}

/** Creates the exchange of an inner request, which ends when its origin does. */
export function innerExchange(
  origin: Exchange,
  request: InnerRequest,
  { base, shownBase, mostBytes }: InnerLocation,
): { readonly x: Exchange; readonly response: KeptResponse } {
  const { method, path, rawPath, args, headers, body } = request;
  const response = new KeptResponse(mostBytes);
  const x = detachedFrom(origin, method, {
    receiver: response,
    rules: { filters: [], bodyFilters: [], ranges: {} },
    headers: [...inherited(origin.request.headers), ...headers],
    target: {
      requestUri: `${shownBase}${rawPath}${args === '' ? '' : `?${args}`}`,
      uri: `${base}${path}`,
      args,
    },
    body,
  });
  x.response.changeRate({ bytesPerSecond: 0 });
  response.begin(x);
  origin.onAbort(() => leave(x));
  return { x, response };
}

/** The path of a location as its client wrote it in a request to a path below it. */
export function shownBaseOf(origin: Exchange, own: string, base: string): string {
  const shown = origin.request.requestUri.replace(/\?.*$/s, '');
  return shown.endsWith(own) ? shown.slice(0, -own.length) : base;
}

/**
 * Rejects unless a client could send the inner request directly: it would reach this location without being refused
 * before.
 */
export async function checkServedHere(x: Exchange, { place, path }: LocationFacts): Promise<void> {
  const { requestUri } = x.request;
  const uri = normalizePath(requestUri.replace(/\?.*$/s, ''), true);
  if (uri === undefined) throw notServedHere(undefined);
  const alone = detachedFrom(x, x.method, { target: { requestUri, uri, args: x.args } });
  alone.internal = false;
  alone.internalRedirects = 0;
  alone.isOriginalUri = true;
  const met = await x.rules.router.rehearse(alone);
  if (met?.place !== place || met.path !== path || met.servedBy !== 'dbrest')
    throw notServedHere(alone.done ? alone.status : undefined);
}

function inherited(headers: readonly string[]): readonly string[] {
  return headers.filter((_, i) => !OWN_HEADERS.has(headers[i - (i % 2)] as string));
}

/** Its origin logs that the client has gone. */
function leave(x: Exchange): void {
  if (x.aborted) return;
  x.status ||= 499;
  x.leave();
}
