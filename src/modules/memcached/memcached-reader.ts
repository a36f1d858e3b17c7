import {
  type Caller,
  invalidResponse,
  LengthReader,
  type ResponseHead,
  type ResponseReader,
} from '../../client/index.ts';

const EMPTY = Buffer.alloc(0);
const LF = 10;
const MISSED = 'END';
/** The bytes after a value (memcached protocol.txt, "Retrieval command"). */
const TRAILER = Buffer.from('\r\nEND\r\n');

/** Reads responses to `get`: a value or its absence. */
export class MemcachedReader implements ResponseReader {
  readonly trailers = undefined;
  caller: Caller | undefined = undefined;
  hasHead = false;
  leavesOpen = false;
  readonly #gzipFlag: number;
  #pending: Buffer = EMPTY;
  #body: LengthReader | undefined = undefined;
  #trailerBytes = 0;
  readonly #give = (piece: Buffer): void => this.caller?.piece(piece);

  constructor(gzipFlag: number) {
    this.#gzipFlag = gzipFlag;
  }

  begin(caller: Caller): void {
    this.caller = caller;
    this.hasHead = false;
    this.#pending = EMPTY;
    this.#body = undefined;
    this.#trailerBytes = 0;
  }

  endsHere(): boolean {
    this.leavesOpen = false;
    return false;
  }

  read(bytes: Buffer): 'complete' | undefined {
    return this.#body ? this.#readBody(this.#body, bytes, 0) : this.#readLine(bytes);
  }

  #readLine(received: Buffer): 'complete' | undefined {
    const caller = this.caller as Caller;
    const bytes = this.#pending.length === 0 ? received : Buffer.concat([this.#pending, received]);
    const end = bytes.indexOf(LF);
    if (end < 0 || end >= caller.headLimitBytes) {
      if (bytes.length >= caller.headLimitBytes) throw invalidResponse('upstream sent too big header');
      this.#pending = bytes;
      return undefined;
    }
    const line = bytes.toString('utf8', 0, end).replace(/\r$/, '');
    this.hasHead = true;
    this.#pending = EMPTY;
    if (line === MISSED) return this.#miss(caller, end + 1 === bytes.length);
    return this.#begin(caller, line, { bytes, from: end + 1 });
  }

  #miss(caller: Caller, isAll: boolean): 'complete' | undefined {
    this.leavesOpen = isAll;
    caller.head(headOf(404, 0));
    return this.caller === caller ? 'complete' : undefined;
  }

  #begin(
    caller: Caller,
    line: string,
    { bytes, from }: { readonly bytes: Buffer; readonly from: number },
  ): 'complete' | undefined {
    const [, key, flags, length] = /^VALUE (\S+) (\d{1,10}) (\d{1,15})$/.exec(line) ?? [];
    if (length === undefined) {
      this.hasHead = false;
      throw invalidResponse(`memcached sent invalid response: "${line.slice(0, 100)}"`);
    }
    if (key !== caller.subject) {
      this.hasHead = false;
      throw invalidResponse(`memcached sent invalid key in response "${line.slice(0, 300)}"`);
    }
    const isGzip = this.#gzipFlag !== 0 && (Number(flags) & this.#gzipFlag) !== 0;
    const body = (this.#body = new LengthReader(Number(length)));
    caller.head(headOf(200, Number(length), isGzip ? ['Content-Encoding', 'gzip'] : []));
    if (this.caller !== caller) return undefined;
    const outcome = this.#readBody(body, bytes, from);
    if (outcome === undefined && this.caller === caller) caller.follow();
    return outcome;
  }

  #readBody(body: LengthReader, bytes: Buffer, from: number): 'complete' | undefined {
    const at = body.complete ? from : body.read(bytes, from, this.#give);
    if (!body.complete) return undefined;
    const rest = bytes.subarray(at);
    const expected = TRAILER.subarray(this.#trailerBytes, this.#trailerBytes + rest.length);
    if (!rest.subarray(0, expected.length).equals(expected))
      throw invalidResponse('memcached sent invalid trailer', 'reading upstream');
    this.#trailerBytes += expected.length;
    if (this.#trailerBytes < TRAILER.length) return undefined;
    this.leavesOpen = rest.length === expected.length;
    return 'complete';
  }
}

function headOf(status: number, bodyBytes: number, headers: readonly string[] = []): ResponseHead {
  return {
    status,
    reason: status === 200 ? 'OK' : 'Not Found',
    headers,
    isPlain: true,
    bodyBytes,
    announcedBytes: bodyBytes,
    keepsAlive: true,
  };
}
