import type { HttpResponse } from 'uWebSockets.js';
import type { ResponseStream } from '../../../http/index.ts';
import type { RequestBody } from '../request-body.ts';
import { guarded, type StreamOwner } from '../transport.ts';
import { asBuffer, inNextTurn } from './outside-parser.ts';

/** After this silence, the client is assumed to wait for the end of the response. */
const PATIENCE = { silenceMs: 500, timeMs: 30_000 };

/**
 * A piece that fits into the 16 KB of the cork buffer, with its frame and the head before it. Of a larger one,
 * uWebSockets.js loses everything if the socket has no room for what is in that buffer.
 */
const CORKED_BYTES = 12_288;

/**
 * The last chunk, written as a header (`name: value`, and a line break): its size, 0, and an extension, which recipients
 * ignore (RFC 9112, 7.1.1). If `end` closed the connection, it would write `Connection: close` into the body.
 */
const LAST_CHUNK = ['\r\n0;end="', '"\r\n'] as const;

/** Time for a client to close a connection of which it knows that it is closed, or to read what is left of a response. */
const CLOSING_MS = { usual: 1_000, slow: 5_000 };

/** Options of a chunked response. */
interface ChunkedRules {
  /** A client that takes nothing for this time is disconnected. */
  readonly timeoutMs: number;
  readonly isUnix: boolean;
  /** Set if the response closes its connection: uWebSockets.js does it if the client has asked for it. */
  readonly closer: 'engine' | 'gateway' | undefined;
  /** The body of the request, if it is incomplete. The response then ends after it and closes its connection. */
  readonly body: RequestBody | undefined;
  /** Ends the head of a response that is aborted before its first piece; called inside a cork. */
  readonly endHead: () => void;
}

/** Writers that wait for room in the socket. */
interface WaitingForRoom {
  readonly drained: Promise<void>;
  readonly resolve: () => void;
  readonly timer: NodeJS.Timeout;
}

/** A chunked response. */
export class UwsChunkedStream implements ResponseStream {
  readonly freesBytes = true;
  readonly #res: HttpResponse;
  readonly #owner: StreamOwner;
  readonly #rules: ChunkedRules;
  #waiting: WaitingForRoom | undefined = undefined;
  /** The socket may have no room for a frame: the client is slow, or it is a Unix socket, which has less room than TCP. */
  #mayLose: boolean;
  #full = false;
  #begun = false;
  #ended = false;
  #closing: NodeJS.Timeout | undefined = undefined;
  readonly #cut: () => void;

  constructor(res: HttpResponse, owner: StreamOwner, rules: ChunkedRules) {
    this.#res = res;
    this.#owner = owner;
    this.#rules = rules;
    this.#mayLose = rules.isUnix;
    this.#cut = guarded(owner.x, () => owner.x.abort());
    const goOn = guarded(owner.x, () => this.#goOn());
    res.onWritable(() => {
      goOn();
      return true;
    });
  }

  write(chunk: string | Uint8Array): boolean {
    // An empty chunk would end the body.
    if (this.#ended || this.#owner.x.aborted || chunk.length === 0) return !this.#full;
    this.#begun = true;
    this.#owner.x.wrote(typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.byteLength);
    if (!this.#mayLose) this.#put(chunk);
    else {
      const bytes = asBuffer(chunk);
      for (let at = 0; at < bytes.length; at += CORKED_BYTES)
        this.#put(bytes.subarray(at, at + CORKED_BYTES));
    }
    return !this.#full;
  }

  #put(piece: string | Uint8Array): void {
    this.#res.cork(() => {
      this.#full = !this.#res.write(piece);
    });
    if (this.#full) this.#mayLose = true;
  }

  drained(): Promise<void> {
    if (!this.#full || this.#ended || this.#owner.x.aborted) return Promise.resolve();
    return (this.#waiting ??= this.#wait()).drained;
  }

  #wait(): WaitingForRoom {
    const timer = setTimeout(this.#cut, this.#rules.timeoutMs);
    let resolve = (): void => undefined;
    const drained = new Promise<void>((settle) => {
      resolve = settle;
    });
    return { drained, resolve, timer };
  }

  end(): void {
    if (this.#ended || this.#owner.x.aborted) return;
    this.#ended = true;
    // Its timer must not end a response that is over.
    this.#resolveDrained();
    const { body, closer } = this.#rules;
    if (!closer) return this.#finish();
    const finish = (): void => inNextTurn(this.#owner, () => this.#finish());
    if (!body || body.isComplete) finish();
    else body.outlast(PATIENCE, finish);
  }

  #finish(): void {
    const closes = this.#rules.closer === 'gateway';
    if (closes && this.#begun) this.#sendLastChunk();
    else this.#res.cork(() => this.#res.end(undefined, closes));
    this.#owner.finished();
  }

  /** Leaves the response open, since nothing that comes after it may be read as a request. */
  #sendLastChunk(): void {
    this.#closing = setTimeout(this.#cut, this.#mayLose ? CLOSING_MS.slow : CLOSING_MS.usual);
    this.#res.cork(() => this.#res.writeHeader(...LAST_CHUNK));
  }

  /** Called when the socket has room again. */
  #goOn(): void {
    this.#full = false;
    if (!this.#closing) return this.#resolveDrained();
    // No write will send what is still buffered; an empty cork does.
    this.#res.cork(() => undefined);
    this.#closing.refresh();
  }

  /** Completes the head, if no piece has done so, because the connection is about to be closed. */
  sendHead(): void {
    if (this.#begun || this.#ended) return;
    this.#begun = true;
    this.#res.cork(this.#rules.endHead);
  }

  /** Resolves `drained`, also after an abort, when the next write does nothing. */
  release(): void {
    clearTimeout(this.#closing);
    this.#resolveDrained();
  }

  #resolveDrained(): void {
    clearTimeout(this.#waiting?.timer);
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }
}
