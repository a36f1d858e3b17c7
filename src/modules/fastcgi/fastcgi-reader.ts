import {
  type Caller,
  invalidResponse,
  MessageReader,
  readCgiHead,
  type ResponseReader,
  UpstreamFault,
} from '../../client/index.ts';
import { HEADER_BYTES, RECORD, REQUEST_ID } from './records.ts';

const READING_HEAD = 'reading response header from upstream';
const READING = 'reading upstream';

/** Log lines for the standard error of one response, so that a program cannot fill the disk. */
const MOST_ERROR_LINES = 1_000;
/** Bytes of the standard error that are shown in one line of the log. */
const MOST_ERROR_BYTES = 1_900;

interface FastcgiRules {
  /** The upstream was asked to leave the connection open (`fastcgi_keep_conn`). */
  readonly keepsConnection: boolean;
  /** Texts in the standard error that make a response invalid (`fastcgi_catch_stderr`). */
  readonly catches: readonly string[];
}

/** Reads the responses of a FastCGI program: its streams STDOUT and STDERR, in records (FastCGI specification, 3.3). */
export class FastcgiReader implements ResponseReader {
  readonly trailers = undefined;
  leavesOpen = false;
  readonly #rules: FastcgiRules;
  /** Reads what the program writes to STDOUT. */
  readonly #output = new MessageReader(readCgiHead);
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  /** The type and the remaining bytes of the current record. */
  #type = 0;
  #contentBytes = 0;
  #paddingBytes = 0;
  #errorLines = 0;
  #isOutputClosed = false;
  /** The response has all bytes of its `Content-Length`. */
  #isWhole = false;
  #hasEnded = false;
  #errors: Buffer[] = [];

  constructor(rules: FastcgiRules) {
    this.#rules = rules;
  }

  get caller(): Caller | undefined {
    return this.#output.caller;
  }

  set caller(caller: Caller | undefined) {
    this.#output.caller = caller;
  }

  get hasHead(): boolean {
    return this.#output.hasHead;
  }

  begin(caller: Caller): void {
    this.#output.begin(caller);
    this.#headerBytes = this.#contentBytes = this.#paddingBytes = 0;
    this.#isOutputClosed = this.#isWhole = this.#hasEnded = false;
    this.#errors = [];
  }

  read(bytes: Buffer): 'complete' | undefined {
    let at = 0;
    while (at < bytes.length) {
      // The request was given up while its response was read.
      if (!this.caller) return undefined;
      if (this.#headerBytes < HEADER_BYTES) at = this.#readHeader(bytes, at);
      else if (this.#contentBytes > 0) at = this.#readContent(bytes, at);
      else at = this.#skipPadding(bytes, at);
      if (this.#hasEnded) return this.#complete(at === bytes.length);
    }
    return undefined;
  }

  endsHere(): boolean {
    this.leavesOpen = false;
    // nginx accepts the end of the connection as the end of a response. But a program that died must not appear to
    // have finished.
    return this.#isOutputClosed;
  }

  #readHeader(bytes: Buffer, from: number): number {
    const to = Math.min(bytes.length, from + HEADER_BYTES - this.#headerBytes);
    bytes.copy(this.#header, this.#headerBytes, from, to);
    this.#headerBytes += to - from;
    if (this.#headerBytes === HEADER_BYTES) this.#beginRecord(this.#header);
    return to;
  }

  #beginRecord(header: Buffer): void {
    const [version, type = 0] = header;
    if (version !== 1) throw this.#invalid(`upstream sent unsupported FastCGI protocol version: ${version}`);
    const id = header.readUInt16BE(2);
    if (id !== REQUEST_ID) throw this.#invalid(`upstream sent unexpected FastCGI request id: ${id}`);
    if (type !== RECORD.STDOUT && type !== RECORD.STDERR && type !== RECORD.END)
      throw this.#invalid(`upstream sent unexpected FastCGI record: ${type}`);
    this.#type = type;
    this.#contentBytes = header.readUInt16BE(4);
    this.#paddingBytes = header[6] as number;
    if (type === RECORD.STDOUT && this.#contentBytes === 0) this.#closeOutput();
    if (this.#contentBytes === 0) this.#endContent();
  }

  #readContent(bytes: Buffer, from: number): number {
    const to = Math.min(bytes.length, from + this.#contentBytes);
    this.#contentBytes -= to - from;
    if (this.#type === RECORD.STDOUT) this.#readOutput(bytes.subarray(from, to));
    else if (this.#type === RECORD.STDERR) this.#errors.push(bytes.subarray(from, to));
    if (this.#contentBytes === 0) this.#endContent();
    return to;
  }

  #endContent(): void {
    // An empty record ends the stream.
    if (this.#type === RECORD.STDERR && this.#errors.length > 0) this.#tellErrors();
    if (this.#paddingBytes === 0) this.#endRecord();
  }

  #skipPadding(bytes: Buffer, from: number): number {
    const to = Math.min(bytes.length, from + this.#paddingBytes);
    this.#paddingBytes -= to - from;
    if (this.#paddingBytes === 0) this.#endRecord();
    return to;
  }

  #endRecord(): void {
    this.#headerBytes = 0;
    if (this.#type !== RECORD.END) return;
    if (!this.hasHead) throw this.#invalid('upstream prematurely closed FastCGI request');
    this.#checkWhole('request');
    this.#hasEnded = true;
  }

  #readOutput(bytes: Buffer): void {
    if (this.#isOutputClosed || this.#isWhole) return this.#refuseMore(bytes);
    const outcome = this.#output.read(bytes);
    if (outcome !== 'complete') return;
    this.#isWhole = true;
    if (this.#output.hasMore) this.#refuseMore(bytes);
  }

  /** Logs data beyond `Content-Length`, which is left out as in nginx. */
  #refuseMore(bytes: Buffer): void {
    if (bytes.length === 0 || this.caller?.method === 'HEAD') return;
    this.caller?.note?.(
      'warn',
      `upstream sent more data than specified in "Content-Length" header while ${READING}`,
    );
  }

  #closeOutput(): void {
    if (!this.hasHead) throw this.#invalid('upstream prematurely closed FastCGI stdout');
    this.#checkWhole('stdout');
    this.#isOutputClosed = true;
  }

  /** Throws an `UpstreamFault` if the response has fewer bytes than it announced. */
  #checkWhole(what: 'stdout' | 'request'): void {
    if (this.#isWhole || this.#output.endsHere()) return;
    throw new UpstreamFault('error', `upstream prematurely closed FastCGI ${what} while ${READING}`);
  }

  #tellErrors(): void {
    const text = Buffer.concat(this.#errors).toString('utf8');
    this.#errors = [];
    const stage = this.hasHead ? READING : READING_HEAD;
    const shown = text.slice(0, MOST_ERROR_BYTES).replace(/[\s.]+$/, '');
    this.#errorLines++;
    if (this.#errorLines <= MOST_ERROR_LINES)
      this.caller?.note?.('error', `FastCGI sent in stderr: "${shown}" while ${stage}`);
    if (this.#errorLines === MOST_ERROR_LINES)
      this.caller?.note?.('error', `FastCGI sends more in stderr, which is left out, while ${stage}`);
    if (!this.hasHead && this.#rules.catches.some((part) => text.includes(part)))
      throw invalidResponse('upstream sent what "fastcgi_catch_stderr" names');
  }

  #complete(isAll: boolean): 'complete' {
    this.leavesOpen = this.#rules.keepsConnection && isAll;
    return 'complete';
  }

  #invalid(message: string): UpstreamFault {
    return invalidResponse(message, this.hasHead ? READING : READING_HEAD);
  }
}
