import { headerLines, withoutBlanks } from './head.ts';

/** The rules in which chunks of clients and of upstreams differ. */
interface ChunkRules {
  /** The size in hexadecimal and extensions, which are ignored. It admits only sizes that are safe integers. */
  readonly sizeLine: RegExp;
  /** Longest line, without its line end. */
  readonly lineBytes: number;
  /** Longest trailer, all lines together. */
  readonly trailerBytes: number;
  readonly trailerLine: RegExp;
  /** True if the trailer fields are kept. */
  readonly keepsTrailers: boolean;
}

/**
 * Rules for clients. A proxy in front of gw may have parsed the same bytes, so everything that is not HTTP is refused:
 * control bytes in extensions, and trailer lines that are no headers. Trailers are not used, so they may be short only.
 */
export const CLIENT_CHUNKS: ChunkRules = {
  sizeLine: /^[0-9a-fA-F]{1,12}[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/,
  lineBytes: 1024,
  trailerBytes: 8192,
  trailerLine: /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/,
  keepsTrailers: false,
};

/**
 * Rules for upstreams, whose chunks only gw parses. Extensions may contain anything, as in nginx, since they are not
 * forwarded. Trailers may be forwarded to the client; invalid ones are dropped later and do not fail the response.
 */
export const UPSTREAM_CHUNKS: ChunkRules = {
  sizeLine: /^[0-9a-fA-F]{1,13}[ \t]*(?:;.*)?$/,
  lineBytes: 4095,
  trailerBytes: 16_384,
  trailerLine: /^[^:]+:/,
  keepsTrailers: true,
};

/** The state of a reader. */
type Step = 'size' | 'content' | 'CR' | 'LF' | 'trailers' | 'complete' | 'broken';

const LF = 10;
const CR = 13;

/**
 * Decodes a chunked body, however its bytes are split (RFC 9112, 7.1). It is strict wherever two parsers could disagree
 * about the end of the body: lines end in CRLF, sizes are plain hexadecimal digits, and content is followed by a line
 * end.
 */
export class ChunkReader {
  /** The trailer fields: name, value … */
  trailers: string[] | undefined = undefined;
  readonly #rules: ChunkRules;
  #step: Step = 'size';
  #line = '';
  #left = 0;
  #trailerBytes = 0;

  constructor(rules: ChunkRules) {
    this.#rules = rules;
  }

  /** True when the whole body has been read. */
  get complete(): boolean {
    return this.#step === 'complete';
  }

  /** True when the framing is invalid, so that the end of the body is unknown. */
  get broken(): boolean {
    return this.#step === 'broken';
  }

  /**
   * Passes the content in `bytes` from `from` on to `give`, and returns the position reached. Bytes after the body are
   * not read.
   */
  read(bytes: Buffer, from: number, give: (content: Buffer) => void): number {
    let at = from;
    while (at < bytes.length && this.#step !== 'complete' && this.#step !== 'broken') {
      if (this.#step === 'content') at = this.#readContent(bytes, at, give);
      else if (this.#step === 'CR') this.#step = bytes[at++] === CR ? 'LF' : 'broken';
      else if (this.#step === 'LF') this.#step = bytes[at++] === LF ? 'size' : 'broken';
      else at = this.#readLine(bytes, at);
    }
    return at;
  }

  #readContent(bytes: Buffer, at: number, give: (content: Buffer) => void): number {
    const end = Math.min(at + this.#left, bytes.length);
    this.#left -= end - at;
    if (this.#left === 0) this.#step = 'CR';
    give(bytes.subarray(at, end));
    return end;
  }

  #readLine(bytes: Buffer, at: number): number {
    const newline = bytes.indexOf(LF, at);
    const end = newline < 0 ? bytes.length : newline;
    const line = this.#line + bytes.toString('latin1', at, end);
    // One byte more than the limit, for the CR of the line end.
    if (line.length > this.#rules.lineBytes + 1) this.#step = 'broken';
    if (newline < 0) {
      this.#line = line;
      return end;
    }
    this.#line = '';
    if (line.charCodeAt(line.length - 1) !== CR) this.#step = 'broken';
    if (this.#step !== 'broken') this.#step = this.#next(line.slice(0, -1));
    return end + 1;
  }

  #next(line: string): Step {
    if (this.#step === 'trailers') return this.#takeTrailer(line);
    if (!this.#rules.sizeLine.test(line)) return 'broken';
    // `parseInt` stops after the last digit.
    this.#left = Number.parseInt(line, 16);
    return this.#left === 0 ? 'trailers' : 'content';
  }

  #takeTrailer(line: string): Step {
    if (line === '') return 'complete';
    const { trailerBytes, trailerLine, keepsTrailers } = this.#rules;
    this.#trailerBytes += line.length;
    if (this.#trailerBytes > trailerBytes || !trailerLine.test(line)) return 'broken';
    if (!keepsTrailers) return 'trailers';
    const colon = line.indexOf(':');
    (this.trailers ??= []).push(line.slice(0, colon), withoutBlanks(line, colon + 1));
    return 'trailers';
  }
}

/** Returns the size line of a chunk. `bytes` must not be 0, which would end the body. */
export function chunkStart(bytes: number): string {
  return `${bytes.toString(16)}\r\n`;
}

/** Follows the content of a chunk. */
export const CHUNK_END = '\r\n';

/** Returns the end of a chunked body, with trailer fields: name, value … */
export function lastChunk(trailers: readonly string[] = []): string {
  return `0\r\n${headerLines(trailers)}\r\n`;
}
