import { closeSync, fstatSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';

/** All that one load may read: sources and their repetitions. */
export const MAX_TOTAL_BYTES = 64 * 1024 * 1024;

/** What `${file:…}` may read. */
export const MAX_SECRET_BYTES = 64 * 1024;

/** Reads a whole file; throws as `node:fs` does, and an error with code `EFBIG` beyond `maxBytes`. */
export type ReadFile = (path: string, maxBytes: number) => Uint8Array | string;

const MIN_CHUNK_BYTES = 64 * 1024;

/** The default `ReadFile`. It reads to the end rather than to the size, so that pipes work and devices end. */
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
 * The text of a file, without a byte order mark. nginx passes any bytes through; gw holds text, so a file that is not
 * UTF-8 is read as ISO 8859-1, in which every byte is a character; `invalidAt` is then where its first odd one stands.
 */
export function decodeText(bytes: Uint8Array | string): { text: string; invalidAt?: number } {
  if (typeof bytes === 'string') return { text: bytes.startsWith('\uFEFF') ? bytes.slice(1) : bytes };
  const text = new TextDecoder().decode(bytes);
  const odd = text.indexOf('\uFFFD');
  if (odd < 0 || Buffer.from(text).equals(withoutMark(bytes))) return { text };
  return { text: Buffer.from(bytes).toString('latin1'), invalidAt: Buffer.byteLength(text.slice(0, odd)) };
}

/** The `code` of a file system error. */
export function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

const PIECE = /\*|\?|\[([!^]?)(\]?[^\]]*)\]|\\(.)|[^]/gu;

/** The paths that match a pattern, which may be relative to a directory, in C order. */
export type Glob = (pattern: string, directory: string) => string[];

/** Whether nginx takes the path of an `include` for a pattern. */
export function isGlob(pattern: string): boolean {
  return /[*?[]/.test(pattern);
}

/**
 * The paths that match, in C order, as glob(3) finds them: `*` `?` `[…]`, no match across `/` nor of a leading dot,
 * through symbolic links, dangling ones included. No braces and no `**`: nginx has neither.
 */
export function globPaths(pattern: string, directory: string): string[] {
  const isAbsolute = pattern.startsWith('/');
  let paths = [isAbsolute ? '/' : ''];
  for (const segment of pattern.split('/').filter((part) => part !== '')) {
    paths = paths.flatMap((base) => step(base, segment, directory));
  }
  return paths.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** Whether an absolute path is one that a pattern means, for files that do not lie in the file system. */
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
    // As glob(3) without GLOB_ERR: what cannot be looked into matches nothing.
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
/** What nginx says before the dump when both streams go to one file. */
const TALK = /^(nginx|gw): /;

/** The files of a dump; undefined for a text that does not begin as one. */
export function filesOfDump(text: string): DumpedFiles | undefined {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.trim() !== '' && !TALK.test(line));
  const [, main] = MARKER.exec(trimmed(lines[first] ?? '')) ?? [];
  if (main === undefined) return undefined;
  const texts = new Map<string, string>();
  let name = main;
  let own: string[] = [];
  // nginx ends each file with a line feed of its own.
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
