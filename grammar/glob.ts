import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

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
