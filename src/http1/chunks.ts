import { headerLines } from './head.ts';
import { withoutBlanks } from './field.ts';

/** How chunks are read where clients and upstreams differ. */
export interface ChunkRules {
  /** The size in hexadecimal, then extensions, which mean nothing to us. The sizes are safe integers. */
  readonly sizeLine: RegExp;
  /** Longest line without its end. */
  readonly lineBytes: number;
  /** All lines of the trailer together. */
  readonly trailerBytes: number;
  readonly trailerLine: RegExp;
  /** Whether somebody wants the fields of the trailer. */
  readonly keepsTrailers: boolean;
}

/**
 * Chunks of a client. Whoever stands in front of us may have read the same bytes, so nothing is let through that is no HTTP: no
 * control bytes in extensions, and trailers are headers. Nobody sees them, so they are short.
 */
export const CLIENT_CHUNKS: ChunkRules = {
  sizeLine: /^[0-9a-fA-F]{1,12}[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/,
  lineBytes: 1024,
  trailerBytes: 8192,
  trailerLine: /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/,
  keepsTrailers: false,
};

/**
 * Chunks of an upstream, of which nobody but us reads. Extensions may hold what they like (nginx), since they end here. Trailers
 * may go on to the client; which of them, is decided there, and a bad one costs the response nothing.
 */
export const UPSTREAM_CHUNKS: ChunkRules = {
  sizeLine: /^[0-9a-fA-F]{1,13}[ \t]*(?:;.*)?$/,
  lineBytes: 4095,
  trailerBytes: 16_384,
  trailerLine: /^[^:]+:/,
  keepsTrailers: true,
};

/** Where a reader is in its body. */
type Step = 'size' | 'content' | 'CR' | 'LF' | 'trailers' | 'complete' | 'broken';

const LF = 10;
const CR = 13;

/**
 * Takes the content out of a chunked body, wherever the bytes are cut (RFC 9112, 7.1). Strict for everybody where two readers
 * could disagree on where it ends: line ends are CRLF, sizes are plain hexadecimal digits, content is followed by its line end.
 */
export class ChunkReader {
  /** Fields behind the body: name, value … */
  trailers: string[] | undefined = undefined;
  private readonly rules: ChunkRules;
  private step: Step = 'size';
  private line = '';
  private left = 0;
  private trailerBytes = 0;

  constructor(rules: ChunkRules) {
    this.rules = rules;
  }

  /** Nothing of the body is missing. */
  get complete(): boolean {
    return this.step === 'complete';
  }

  /** It breaks its framing: where it ends is unknown. */
  get broken(): boolean {
    return this.step === 'broken';
  }

  /** The content in `bytes` from `from` on goes to `give`; gives how far it read. What lies behind the body stays unread. */
  read(bytes: Buffer, from: number, give: (content: Buffer) => void): number {
    let at = from;
    while (at < bytes.length && this.step !== 'complete' && this.step !== 'broken') {
      if (this.step === 'content') at = this.readContent(bytes, at, give);
      else if (this.step === 'CR') this.step = bytes[at++] === CR ? 'LF' : 'broken';
      else if (this.step === 'LF') this.step = bytes[at++] === LF ? 'size' : 'broken';
      else at = this.readLine(bytes, at);
    }
    return at;
  }

  private readContent(bytes: Buffer, at: number, give: (content: Buffer) => void): number {
    const end = Math.min(at + this.left, bytes.length);
    this.left -= end - at;
    if (this.left === 0) this.step = 'CR';
    give(bytes.subarray(at, end));
    return end;
  }

  private readLine(bytes: Buffer, at: number): number {
    const newline = bytes.indexOf(LF, at);
    const end = newline < 0 ? bytes.length : newline;
    const line = this.line + bytes.toString('latin1', at, end);
    // Its CR is there already, or may be what came last.
    if (line.length > this.rules.lineBytes + 1) this.step = 'broken';
    if (newline < 0) {
      this.line = line;
      return end;
    }
    this.line = '';
    if (line.charCodeAt(line.length - 1) !== CR) this.step = 'broken';
    if (this.step !== 'broken') this.step = this.next(line.slice(0, -1));
    return end + 1;
  }

  private next(line: string): Step {
    if (this.step === 'trailers') return this.takeTrailer(line);
    if (!this.rules.sizeLine.test(line)) return 'broken';
    // Reads as far as the digits go.
    this.left = Number.parseInt(line, 16);
    return this.left === 0 ? 'trailers' : 'content';
  }

  private takeTrailer(line: string): Step {
    if (line === '') return 'complete';
    const { trailerBytes, trailerLine, keepsTrailers } = this.rules;
    this.trailerBytes += line.length;
    if (this.trailerBytes > trailerBytes || !trailerLine.test(line)) return 'broken';
    if (!keepsTrailers) return 'trailers';
    const colon = line.indexOf(':');
    (this.trailers ??= []).push(line.slice(0, colon), withoutBlanks(line, colon + 1));
    return 'trailers';
  }
}

/** What stands before the content of a chunk; never of an empty one, which would end the body. */
export function chunkStart(bytes: number): string {
  return `${bytes.toString(16)}\r\n`;
}

/** What stands behind the content of a chunk. */
export const CHUNK_END = '\r\n';

/** What ends a chunked body, with the fields of its trailer: name, value … */
export function lastChunk(trailers: readonly string[] = []): string {
  return `0\r\n${headerLines(trailers)}\r\n`;
}
