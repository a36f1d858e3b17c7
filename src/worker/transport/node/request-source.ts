import type { BodySource } from '../request-body.ts';

/** Longest chunk-size line with its extensions, which mean nothing to us. */
const LONGEST_SIZE_LINE = 1024;
/** All trailer lines together; they are read and dropped. */
const LONGEST_TRAILERS = 8192;
/** RFC 9112, 7.1: the size in hexadecimal, then extensions. Fifteen digits would not be a safe integer any more. */
const SIZE_LINE = /^([0-9a-fA-F]{1,12})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
const TRAILER_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/;

/** Where a decoder is in its body. */
type Step = 'size' | 'content' | 'end of content' | 'trailers' | 'done' | 'broken';

/** Takes the content of a chunked body, wherever the bytes are cut. */
type ContentReceiver = (content: Buffer) => void;

/**
 * Decodes a chunked body. Strict where two readers could disagree on where it ends: line ends are CRLF, sizes are plain
 * hexadecimal digits, trailers are header lines.
 */
export class ChunkedBody {
  private step: Step = 'size';
  private line = '';
  private left = 0;
  private trailerBytes = 0;

  get isComplete(): boolean {
    return this.step === 'done';
  }

  get isBroken(): boolean {
    return this.step === 'broken';
  }

  /** Gives how many of the bytes belong to the body. */
  take(bytes: Buffer, receive: ContentReceiver): number {
    let at = 0;
    while (at < bytes.length && this.step !== 'done' && this.step !== 'broken') {
      at = this.step === 'content' ? this.takeContent(bytes, at, receive) : this.takeLine(bytes, at);
    }
    return at;
  }

  private takeContent(bytes: Buffer, at: number, receive: ContentReceiver): number {
    const end = Math.min(at + this.left, bytes.length);
    this.left -= end - at;
    if (this.left === 0) this.step = 'end of content';
    receive(bytes.subarray(at, end));
    return end;
  }

  private takeLine(bytes: Buffer, at: number): number {
    const newline = bytes.indexOf(10, at);
    const end = newline < 0 ? bytes.length : newline + 1;
    this.line += bytes.toString('latin1', at, end);
    const limit = this.step === 'end of content' ? 2 : LONGEST_SIZE_LINE;
    if (newline < 0 ? this.line.length > limit : !this.line.endsWith('\r\n')) this.step = 'broken';
    else if (newline >= 0) {
      const line = this.line.slice(0, -2);
      this.line = '';
      this.step = line.length > limit ? 'broken' : this.next(line);
    }
    return end;
  }

  private next(line: string): Step {
    if (this.step === 'end of content') return line === '' ? 'size' : 'broken';
    if (this.step === 'size') {
      const [, digits] = SIZE_LINE.exec(line) ?? [];
      if (digits === undefined) return 'broken';
      this.left = Number.parseInt(digits, 16);
      return this.left === 0 ? 'trailers' : 'content';
    }
    if (line === '') return 'done';
    this.trailerBytes += line.length;
    return this.trailerBytes <= LONGEST_TRAILERS && TRAILER_LINE.test(line) ? 'trailers' : 'broken';
  }
}

const NOTHING = Buffer.alloc(0);

/** Holds the client back and lets it go on. */
interface Flow {
  pause(): void;
  resume(): void;
}

/** The body of one request as a connection reads it: says where it ends. */
export class RequestSource implements BodySource {
  /** Bytes of it on the wire so far. */
  wireBytes = 0;
  private readonly flow: Flow;
  private readonly chunked: ChunkedBody | undefined;
  private left: number;
  private handler: (chunk: Buffer, isLast: boolean) => void = () => undefined;

  /** `lengthBytes`: -1 for a chunked body. */
  constructor(lengthBytes: number, flow: Flow) {
    this.left = lengthBytes;
    this.flow = flow;
    this.chunked = lengthBytes < 0 ? new ChunkedBody() : undefined;
  }

  get isComplete(): boolean {
    return this.chunked ? this.chunked.isComplete : this.left === 0;
  }

  /** The framing is not what it should be: where the body ends is unknown. */
  get isBroken(): boolean {
    return this.chunked?.isBroken === true;
  }

  onData(handler: (chunk: Buffer, isLast: boolean) => void): void {
    this.handler = handler;
  }

  pause(): void {
    this.flow.pause();
  }

  resume(): void {
    this.flow.resume();
  }

  /** Gives how many of the bytes belong to the body. */
  take(bytes: Buffer): number {
    const taken = this.chunked ? this.takeChunks(this.chunked, bytes) : this.takePlain(bytes);
    this.wireBytes += taken;
    return taken;
  }

  private takePlain(bytes: Buffer): number {
    const taken = Math.min(this.left, bytes.length);
    this.left -= taken;
    this.handler(bytes.subarray(0, taken), this.left === 0);
    return taken;
  }

  private takeChunks(chunked: ChunkedBody, bytes: Buffer): number {
    const taken = chunked.take(bytes, (content) => this.handler(content, false));
    if (chunked.isComplete) this.handler(NOTHING, true);
    return taken;
  }
}
