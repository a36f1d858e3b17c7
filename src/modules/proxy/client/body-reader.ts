import { CHUNKED, UNSAID, withoutBlanks } from '../../../http1/index.ts';
import type { AnswerHead } from './answer-head.ts';
import { invalidAnswer } from './fault.ts';

/** Takes the body of an answer out of what a connection receives. */
export interface BodyReader {
  /** Nothing of the body is missing. */
  readonly complete: boolean;
  /**
   * The bytes of the body in `bytes` from `from` on go to `give`; gives how far it read. What lies behind the body stays unread.
   * Throws an `UpstreamFault` for a body that breaks its framing.
   */
  read(bytes: Buffer, from: number, give: (piece: Buffer) => void): number;
  /** Header fields behind the body: name, value … */
  readonly trailers: readonly string[] | undefined;
}

/** What reads the body behind a head. */
export function bodyReaderOf({ bodyBytes }: AnswerHead): BodyReader {
  if (bodyBytes === CHUNKED) return new ChunkedReader();
  return bodyBytes === UNSAID ? new CloseReader() : new LengthReader(bodyBytes);
}

/** A body of known length. */
export class LengthReader implements BodyReader {
  readonly trailers = undefined;
  private left: number;

  constructor(bytes: number) {
    this.left = bytes;
  }

  get complete(): boolean {
    return this.left === 0;
  }

  read(bytes: Buffer, from: number, give: (piece: Buffer) => void): number {
    const end = Math.min(bytes.length, from + this.left);
    this.left -= end - from;
    if (end > from) give(from === 0 && end === bytes.length ? bytes : bytes.subarray(from, end));
    return end;
  }
}

/** A body that ends with its connection. */
export class CloseReader implements BodyReader {
  readonly trailers = undefined;
  readonly complete = false;

  read(bytes: Buffer, from: number, give: (piece: Buffer) => void): number {
    if (bytes.length > from) give(from === 0 ? bytes : bytes.subarray(from));
    return bytes.length;
  }
}

/** Longest line between chunks, and most bytes of trailers. */
const MAX_LINE = 4_096;
const MAX_TRAILER_BYTES = 16_384;
const CHUNK_LINE = /^([0-9A-Fa-f]{1,13})[\t ]*(?:;.*)?$/;

/** A chunked body, read strictly (RFC 9112, 7.1): its extensions are dropped, its trailers kept. */
export class ChunkedReader implements BodyReader {
  complete = false;
  trailers: string[] | undefined = undefined;
  private state: 'size' | 'data' | 'data end' | 'trailers' = 'size';
  private left = 0;
  private line = '';
  private trailerBytes = 0;

  read(bytes: Buffer, from: number, give: (piece: Buffer) => void): number {
    let at = from;
    while (at < bytes.length && !this.complete) {
      if (this.state !== 'data') at = this.readLine(bytes, at);
      else {
        const end = Math.min(bytes.length, at + this.left);
        this.left -= end - at;
        if (this.left === 0) this.state = 'data end';
        give(bytes.subarray(at, end));
        at = end;
      }
    }
    return at;
  }

  private readLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(10, at);
    this.line += bytes.toString('latin1', at, end < 0 ? bytes.length : end);
    if (this.line.length > MAX_LINE) throw broken();
    if (end < 0) return bytes.length;
    if (!this.line.endsWith('\r')) throw broken();
    const line = this.line.slice(0, -1);
    this.line = '';
    this.takeLine(line);
    return end + 1;
  }

  private takeLine(line: string): void {
    if (this.state === 'trailers') return this.takeTrailer(line);
    if (this.state === 'data end') {
      if (line !== '') throw broken();
      this.state = 'size';
      return;
    }
    const [, digits] = CHUNK_LINE.exec(line) ?? [];
    if (digits === undefined) throw broken();
    this.left = Number.parseInt(digits, 16);
    this.state = this.left === 0 ? 'trailers' : 'data';
  }

  private takeTrailer(line: string): void {
    if (line === '') {
      this.complete = true;
      return;
    }
    const colon = line.indexOf(':');
    this.trailerBytes += line.length;
    if (colon < 1 || this.trailerBytes > MAX_TRAILER_BYTES) throw broken();
    (this.trailers ??= []).push(line.slice(0, colon), withoutBlanks(line, colon + 1));
  }
}

function broken(): Error {
  return invalidAnswer('upstream sent invalid chunked response', 'reading upstream');
}
