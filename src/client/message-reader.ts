import { CHUNKED, ChunkReader, emptyLineAt, headEnd, NO_LENGTH, UPSTREAM_CHUNKS } from '../http1/index.ts';
import { invalidResponse } from './fault.ts';
import { readHead, type ResponseHead, upgradeOf } from './response-head.ts';
import type { Caller, ResponseReader, Switch } from './response-reader.ts';

/** Maximum number of interim responses such as 103 to one request: each of them restarts `proxy_read_timeout`. */
const MAX_INTERIM_RESPONSES = 16;
const EMPTY = Buffer.alloc(0);

/** Parses the complete head of a response (`text` in latin1). Throws an `UpstreamFault`. */
type HeadParser = (text: string, caller: Caller) => ResponseHead;

/** Reads responses that begin with a head as in HTTP/1, which determines the end of the body. */
export class MessageReader implements ResponseReader {
  caller: Caller | undefined = undefined;
  hasHead = false;
  leavesOpen = false;
  /** Bytes followed the complete response. */
  hasMore = false;
  #interims = 0;
  #pending: Buffer = EMPTY;
  #head: ResponseHead | undefined = undefined;
  #body: BodyReader | undefined = undefined;
  readonly #parse: HeadParser;
  readonly #give = (piece: Buffer): void => this.caller?.piece(piece);

  constructor(parse: HeadParser = readHead) {
    this.#parse = parse;
  }

  get trailers(): readonly string[] | undefined {
    return this.#body?.trailers;
  }

  begin(caller: Caller): void {
    this.caller = caller;
    this.hasHead = false;
    this.#interims = 0;
    this.#head = undefined;
    this.#body = undefined;
  }

  read(bytes: Buffer): 'complete' | Switch | undefined {
    if (this.#body) return this.#readBody(this.#body, bytes, 0);
    const pending = this.#pending;
    if (pending.length === 0) return this.#readHead(bytes, 0);
    // The empty line may begin in the bytes that were searched before.
    return this.#readHead(Buffer.concat([pending, bytes]), Math.max(0, pending.length - 2));
  }

  endsHere(): boolean {
    this.leavesOpen = false;
    return this.#body instanceof CloseReader;
  }

  #readHead(bytes: Buffer, from: number): 'complete' | Switch | undefined {
    const caller = this.caller as Caller;
    const { headLimitBytes } = caller;
    // A CGI program may send no header at all.
    const length = emptyLineAt(bytes, 0) || headEnd(bytes, from);
    if (length < 0 || length > headLimitBytes) {
      if (bytes.length >= headLimitBytes) throw invalidResponse('upstream sent too big header');
      this.#pending = bytes;
      return undefined;
    }
    const head = this.#parse(bytes.toString('latin1', 0, length), caller);
    this.#pending = EMPTY;
    if (head.status < 200) return this.#readInterim(head, bytes.subarray(length));
    this.hasHead = true;
    this.#head = head;
    const body = (this.#body = bodyReaderOf(head));
    caller.head(head);
    const outcome = this.caller === caller ? this.#readBody(body, bytes, length) : undefined;
    if (outcome === undefined && this.caller === caller) caller.follow();
    return outcome;
  }

  /** Only a 103 is passed on (nginx). A 101 that the request asked for ends HTTP on this connection. */
  #readInterim(head: ResponseHead, rest: Buffer): 'complete' | Switch | undefined {
    if (head.status !== 101) {
      if (++this.#interims > MAX_INTERIM_RESPONSES)
        throw invalidResponse('upstream sent too many interim responses');
      if (head.status === 103) this.caller?.hints?.(head);
      return rest.length > 0 ? this.#readHead(rest, 0) : undefined;
    }
    const { upgrades } = this.caller ?? {};
    if (!upgrades) throw invalidResponse('upstream sent unexpected status 101');
    const protocol = upgradeOf(head);
    if (!upgrades.includes(protocol.toLowerCase()))
      throw invalidResponse(`upstream switched to "${protocol}", which was not asked for`);
    return { head, rest };
  }

  #readBody(body: BodyReader, bytes: Buffer, from: number): 'complete' | undefined {
    const at = body.complete ? from : body.read(bytes, from, this.#give);
    if (body.broken) throw invalidResponse('upstream sent invalid chunked response', 'reading upstream');
    if (!body.complete) return undefined;
    this.hasMore = at < bytes.length;
    this.leavesOpen = this.#head?.keepsAlive === true && !this.hasMore;
    return 'complete';
  }
}

/** Extracts the body of a response from the bytes that a connection receives. */
export interface BodyReader {
  /** The body has been read completely. */
  readonly complete: boolean;
  /** The body violates its framing, so its end is unknown. */
  readonly broken: boolean;
  /**
   * Passes the bytes of the body in `bytes`, starting at `from`, to `give`, and returns the index after them. Bytes after
   * the body are not read.
   */
  read(bytes: Buffer, from: number, give: (piece: Buffer) => void): number;
  /** Trailer fields: name, value … */
  readonly trailers: readonly string[] | undefined;
}

/** Returns the reader for the body of a response with this head. */
function bodyReaderOf({ bodyBytes }: ResponseHead): BodyReader {
  if (bodyBytes === CHUNKED) return new ChunkReader(UPSTREAM_CHUNKS);
  return bodyBytes === NO_LENGTH ? new CloseReader() : new LengthReader(bodyBytes);
}

/** A body of known length. */
export class LengthReader implements BodyReader {
  readonly broken = false;
  readonly trailers = undefined;
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  get complete(): boolean {
    return this.#left === 0;
  }

  read(bytes: Buffer, from: number, give: (piece: Buffer) => void): number {
    const end = Math.min(bytes.length, from + this.#left);
    this.#left -= end - from;
    if (end > from) give(from === 0 && end === bytes.length ? bytes : bytes.subarray(from, end));
    return end;
  }
}

/** A body that ends with its connection. */
export class CloseReader implements BodyReader {
  readonly broken = false;
  readonly trailers = undefined;
  readonly complete = false;

  read(bytes: Buffer, from: number, give: (piece: Buffer) => void): number {
    if (bytes.length > from) give(from === 0 ? bytes : bytes.subarray(from));
    return bytes.length;
  }
}
