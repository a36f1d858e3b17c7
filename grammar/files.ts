import { closeSync, fstatSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';

/** Maximum bytes of one load; a file counts each time that it is included. */
export const MAX_TOTAL_BYTES = 64 * 1024 * 1024;

/** Maximum bytes of a file in `${file:…}`. */
export const MAX_SECRET_BYTES = 64 * 1024;

/** Reads a whole file. Throws the errors of `node:fs`, and one with code `EFBIG` beyond `maxBytes`. */
export type ReadFile = (path: string, maxBytes: number) => Uint8Array | string;

const MIN_CHUNK_BYTES = 64 * 1024;

/**
 * The default `ReadFile`. It reads to the end of the file instead of its size, so pipes work and devices stop
 * at the limit.
 */
export function readFileBytes(path: string, maxBytes: number): Uint8Array {
  const fd = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    let total = 0;
    const chunkBytes = Math.max(MIN_CHUNK_BYTES, Math.min(fstatSync(fd).size, maxBytes) + 1);
    for (;;) {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const length = readSync(fd, chunk);
      if (length === 0) return Buffer.concat(chunks, total);
      total += length;
      if (total > maxBytes) throw Object.assign(new Error(`${path} is too large`), { code: 'EFBIG' });
      chunks.push(chunk.subarray(0, length));
    }
  } finally {
    closeSync(fd);
  }
}

/**
 * Returns the text of a file without its byte order mark. nginx passes any bytes through, but gw holds text: a file
 * that is not UTF-8 is read as ISO 8859-1, in which every byte is a character, and `invalidAt` is the offset of the
 * first invalid byte.
 */
export function decodeText(bytes: Uint8Array | string): { text: string; invalidAt?: number } {
  if (typeof bytes === 'string') return { text: bytes.startsWith('\uFEFF') ? bytes.slice(1) : bytes };
  const encoded = withoutMark(bytes);
  const text = encoded.toString();
  const odd = text.indexOf('\uFFFD');
  if (odd < 0 || Buffer.from(text).equals(encoded)) return { text };
  return { text: Buffer.from(bytes).toString('latin1'), invalidAt: Buffer.byteLength(text.slice(0, odd)) };
}

/** Returns the `code` of a file system error. */
export function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

function withoutMark(bytes: Uint8Array): Buffer {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).subarray(hasMark ? 3 : 0);
}

const PIECE = /\*|\?|\[([!^]?)(\]?[^\]]*)\]|\\(.)|[^]/gu;

/** The paths that match a pattern, which may be relative to a directory, in C order. */
export type Glob = (pattern: string, directory: string) => string[];

/** Tells whether nginx treats the path of an `include` as a pattern. */
export function isGlob(pattern: string): boolean {
  return /[*?[]/.test(pattern);
}

/**
 * Returns the paths that match a pattern, in C order, as glob(3) finds them: `*`, `?` and `[…]`, no match across `/` or
 * of a leading dot, symbolic links followed, dangling ones included. Like nginx, it supports neither braces nor `**`.
 */
export function globPaths(pattern: string, directory: string): string[] {
  const isAbsolute = pattern.startsWith('/');
  let paths = [isAbsolute ? '/' : ''];
  for (const segment of pattern.split('/').filter((part) => part !== '')) {
    paths = paths.flatMap((base) => step(base, segment, directory));
  }
  return paths.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** Tells whether an absolute path matches a pattern, for files that are not in the file system. */
export function matchesGlob(path: string, pattern: string): boolean {
  const [segments, patterns] = [path.split('/'), pattern.split('/')];
  return (
    segments.length === patterns.length &&
    patterns.every((each, index) => toRegExp(each).test(segments[index] as string))
  );
}

function step(base: string, segment: string, directory: string): string[] {
  const inBase = (name: string): string => (base === '' || base === '/' ? base + name : `${base}/${name}`);
  const absolute = base.startsWith('/') ? base : join(directory, base);
  try {
    if (!isGlob(segment)) {
      const name = segment.replace(/\\(.)/g, '$1');
      lstatSync(join(absolute, name));
      return [inBase(name)];
    }
    const matcher = toRegExp(segment);
    return readdirSync(absolute)
      .filter((name) => matcher.test(name))
      .map(inBase);
  } catch {
    // As glob(3) without GLOB_ERR: a directory that cannot be read has no matches.
    return [];
  }
}

function toRegExp(segment: string): RegExp {
  const body = Array.from(segment.matchAll(PIECE), ([text, negation, set, escaped]) => {
    if (text === '*') return '[^]*';
    if (text === '?') return '[^]';
    if (set !== undefined) return `[${negation ? '^' : ''}${set.replace(/[\\[\]^]/g, '\\$&')}]`;
    return (escaped ?? text).replace(/[\\^$.*+?()[\]{}|]/, '\\$&');
  });
  return new RegExp(`^${segment.startsWith('.') ? '' : '(?!\\.)'}${body.join('')}$`, 'u');
}

/** The files of a configuration that `nginx -T` or `gw -T` printed. */
export interface DumpedFiles {
  /** The main file: the first. */
  readonly main: string;
  /** Text by path, as the dump names it. */
  readonly texts: ReadonlyMap<string, string>;
}

const MARKER = /^# configuration file (.+):$/;
/** The messages that precede a dump if both streams of nginx went to one file. */
const TALK = /^(nginx|gw): /;

/** Returns the files of a dump; `undefined` if the text does not begin like one. */
export function filesOfDump(text: string): DumpedFiles | undefined {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.trim() !== '' && !TALK.test(line));
  const [, main] = MARKER.exec(trimmed(lines[first] ?? '')) ?? [];
  if (main === undefined) return undefined;
  const texts = new Map<string, string>();
  let name = main;
  let own: string[] = [];
  // nginx adds a line feed to each file.
  const keep = (): void => void texts.set(name, own.join('\n').replace(/\n$/, ''));
  for (const line of lines.slice(first + 1)) {
    const [, next] = MARKER.exec(trimmed(line)) ?? [];
    if (next === undefined) {
      own.push(line);
      continue;
    }
    keep();
    [name, own] = [next, []];
  }
  keep();
  return { main, texts };
}

function trimmed(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
