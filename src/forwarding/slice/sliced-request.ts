import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Part, StoredDelivery } from '../../cache/index.ts';
import {
  detachedFrom,
  type Exchange,
  failRequest,
  type Handler,
  type ResponseStream,
} from '../../http/index.ts';
import { beginSlice, firstPiece, mismatchOf, pieceRangeOf, type SliceState } from './pieces.ts';

/** The rules that the requests of a location share. */
export interface SliceRules {
  readonly sizeBytes: number;
  /** Responds to a request for one piece. */
  readonly handle: Handler;
  readonly stored: StoredDelivery;
}

/** A piece that is being fetched. */
interface Piece {
  readonly x: Exchange;
  readonly state: SliceState;
  readonly at: number;
  /** The end of the piece, by its head. It may be the whole response instead, whose length may be unknown. */
  to: number;
  receivedBytes: number;
}

/** Values of the first piece that the other pieces must repeat. */
interface Agreed {
  readonly etag: string | undefined;
  readonly totalBytes: number;
}

/** Headers by which the client asks for the response as a whole, and which are not sent for a piece. */
const OF_WHOLE: ReadonlySet<string> = new Set([
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
]);

/** A request whose response is joined from pieces. Each is fetched when the one before it has been sent. */
export class SlicedRequest {
  readonly #x: Exchange;
  readonly #rules: SliceRules;
  readonly #headers: readonly string[];
  #piece: Piece | undefined = undefined;
  /** Absent before the first piece, and if the response does not consist of pieces. */
  #agreed: Agreed | undefined = undefined;
  /** The client gets the bytes from `#from` up to `#to`. */
  #from = 0;
  #to = 0;
  #stream: ResponseStream | undefined = undefined;
  #isBlocked = false;

  constructor(x: Exchange, rules: SliceRules) {
    const { headers } = x.request;
    this.#x = x;
    this.#rules = rules;
    this.#headers = headers.filter(
      (_, at) => !OF_WHOLE.has((headers[at - (at % 2)] as string).toLowerCase()),
    );
  }

  begin(): void {
    this.#x.onAbort(() => this.#abandon());
    this.#fetch(firstPiece(this.#x, this.#rules.sizeBytes));
  }

  #fetch(at: number): void {
    const x = detachedFrom(this.#x, this.#x.request.method, {
      receiver: {
        whole: (body) => this.#takeWhole(body),
        opens: () => this.#opens(),
        closes: () => this.#cut(),
      },
      rules: { filters: [], bodyFilters: [], ranges: {}, ...this.#detours() },
      headers: this.#headers,
    });
    const state = beginSlice(x, { at, sizeBytes: this.#rules.sizeBytes });
    this.#piece = { x, state, at, to: Infinity, receivedBytes: 0 };
    try {
      this.#rules.handle(x)?.catch((error: unknown) => failRequest(x, error));
    } catch (error) {
      failRequest(x, error);
    }
  }

  /** Applies error pages and redirects for the first piece to the client's request. */
  #detours(): Pick<Exchange['rules'], 'errorPages' | 'router'> {
    const { errorPages, router } = this.#x.rules;
    const detour = (act: () => void | Promise<void>): void | Promise<void> => {
      if (this.#agreed) return this.#refuse('unexpected redirect in slice response');
      this.#takeHead();
      this.#over();
      return act();
    };
    const pages = [...(errorPages?.keys() ?? [])].map(
      (status) => [status, () => detour(() => this.#x.end(status))] as const,
    );
    return {
      errorPages: this.#agreed ? undefined : new Map(pages),
      router: {
        rehearse: (one) => router.rehearse(one),
        subrequest: (parent, facts) => router.subrequest(parent, facts),
        toNamed: (_x, name) => detour(() => router.toNamed(this.#x, name)),
        toUri: (_x, target) => detour(() => router.toUri(this.#x, target)),
        toPath: (_x, path) => detour(() => router.toPath(this.#x, path)),
      },
    };
  }

  /** Takes a response that has come with its whole body. */
  #takeWhole(body: string | Uint8Array): void {
    const piece = this.#piece;
    if (!piece) return;
    if (this.#agreed || isPiece(piece)) {
      const stream = this.#opens();
      if (stream && body.length > 0) stream.write(body);
      return stream?.end();
    }
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const part = this.#decide(piece, bytes.length);
    this.#over();
    if (part) this.#x.send(part.status, part.body.contentType, bytes.subarray(this.#from, this.#to));
  }

  /** Takes the head of a response. Returns the receiver of its body; `undefined` if the body is not needed. */
  #opens(): ResponseStream | undefined {
    const piece = this.#piece;
    if (!piece) return undefined;
    const isNeeded = this.#agreed ? this.#continues(piece, this.#agreed) : this.#begins(piece);
    // The limit applies to the client's response, for all pieces together.
    piece.x.response.changeRate({ bytesPerSecond: 0 });
    if (isNeeded)
      return {
        write: (chunk) => this.#write(piece, chunk),
        drained: () => this.#drained(),
        end: () => this.#end(piece),
      };
    if (this.#piece === piece) this.#over();
    return undefined;
  }

  /** Begins the response to the client. False: no byte of this piece is needed. */
  #begins(piece: Piece): boolean {
    const part = isPiece(piece) ? this.#agree(piece) : this.#decide(piece, piece.x.response.lengthBytes);
    if (!part) return false;
    const { status, body, hidesLength } = part;
    this.#stream = this.#x.stream(status, body.contentType, hidesLength ? -1 : body.lengthBytes);
    if (!this.#stream) return false;
    if (this.#from < piece.to) return true;
    // The range counts from the end, so it may begin in a later piece.
    this.#goOn(this.#from - (this.#from % this.#rules.sizeBytes));
    return false;
  }

  /** Adopts the values of the first piece that the others must repeat. */
  #agree(piece: Piece): Part | undefined {
    const { response } = piece.x;
    const place = pieceRangeOf(response, { at: piece.at, sizeBytes: this.#rules.sizeBytes });
    if (typeof place === 'string') {
      this.#x.writeLog(place);
      this.#x.end(502);
      return undefined;
    }
    this.#agreed = { etag: response.header('ETag'), totalBytes: place.totalBytes };
    piece.to = place.to;
    return this.#decide(piece, place.totalBytes);
  }

  /** Decides by the request's conditions and range what the client gets; `undefined` if it has a response. */
  #decide({ x: { response, status } }: Piece, totalBytes: number): Part | undefined {
    this.#takeHead();
    const offer = this.#agreed ? ['Accept-Ranges', 'bytes'] : [];
    const head = {
      status: this.#agreed ? 200 : status,
      reason: '',
      headers: [...(response.headers ?? []), ...offer],
      isPlain: false,
      keepsAlive: true,
      bodyBytes: totalBytes,
      announcedBytes: totalBytes,
    };
    if (this.#agreed) {
      this.#x.response.reason = this.#x.response.trailers = undefined;
      this.#x.response.removeHeader('Content-Range');
    }
    const part = this.#rules.stored.decideFirst(this.#x, { head, contentType: response.type });
    const [range] = part?.body.parts ?? [];
    this.#from = range?.from ?? 0;
    this.#to = part?.hidesLength ? Infinity : (range?.to ?? 0);
    return part;
  }

  /** Copies the headers of the first piece to the client's response. */
  #takeHead(): void {
    const { x } = this.#piece as Piece;
    const { response } = this.#x;
    const { headers, reason, trailers } = x.response;
    this.#x.copyStates(x);
    this.#x.method = x.method;
    this.#x.args = x.args;
    this.#x.closing ||= x.closing;
    if (headers) response.headers = [...(response.headers ?? []), ...headers];
    response.reason = reason;
    response.trailers = trailers;
  }

  /** Checks a further piece. False: the response has ended here. */
  #continues(piece: Piece, agreed: Agreed): boolean {
    const { x, at } = piece;
    const place = pieceRangeOf(x.response, { at, sizeBytes: this.#rules.sizeBytes });
    const mismatch = mismatchOf(x, place, agreed);
    if (typeof place !== 'string' && mismatch === undefined) {
      piece.to = place.to;
      return true;
    }
    this.#refuse(String(mismatch));
    return false;
  }

  /** Aborts the response, because a part of it has been sent already. */
  #refuse(reason: string): void {
    this.#x.writeLog(reason);
    this.#x.abort();
  }

  #write(piece: Piece, chunk: string | Uint8Array): boolean {
    const stream = this.#stream;
    if (!stream || this.#piece !== piece) return true;
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    const at = (this.#agreed ? piece.at : 0) + piece.receivedBytes;
    piece.receivedBytes += bytes.length;
    const from = Math.max(this.#from - at, 0);
    const to = Math.min(Math.min(piece.to, this.#to) - at, bytes.length);
    if (from >= to) return true;
    this.#isBlocked = !stream.write(bytes.subarray(from, to));
    return !this.#isBlocked;
  }

  async #drained(): Promise<void> {
    await this.#stream?.drained();
    this.#isBlocked = false;
  }

  /** Called when a piece is complete. */
  #end(piece: Piece): void {
    if (this.#piece !== piece) return;
    this.#over();
    if (!this.#agreed) this.#stream?.end();
    else if (piece.at + piece.receivedBytes < piece.to) this.#x.abort();
    else this.#goOn(piece.to);
  }

  /** Fetches the next piece when the client has taken the previous one. */
  #goOn(at: number): void {
    this.#fetchLater(at).catch((error: unknown) => {
      this.#x.writeLog(`the response could not be passed on: ${String(error)}`);
      this.#x.abort();
    });
  }

  async #fetchLater(at: number): Promise<void> {
    if (this.#isBlocked) await this.#drained();
    if (at >= this.#to) return this.#stream?.end();
    // Pieces in memory arrive at once. Other requests are served in between.
    await nextTurn();
    if (!this.#x.aborted) this.#fetch(at);
  }

  #over(): void {
    this.#piece?.x.finish();
    this.#piece = undefined;
  }

  #cut(): void {
    if (!this.#piece) return;
    this.#over();
    this.#x.abort();
  }

  /** Called when the client has closed the connection. A piece that is being stored is still stored. */
  #abandon(): void {
    const { x } = this.#piece ?? {};
    if (!x) return;
    // The log already has a line about the client's request.
    x.status ||= 499;
    x.leave();
    this.#over();
  }
}

/** Tells whether the response to the first request consists of pieces. */
function isPiece({ x, state }: Piece): boolean {
  return x.status === 206 && state.isUsed;
}
