import { type CodePoints, complement, LAST_CODE_POINT, type Range } from './code-points.ts';
import { noEquivalent, type Scanner } from './scanner.ts';

/** Properties of PCRE that Unicode lacks (pcre2pattern, "Unicode character properties"), as JavaScript writes them. */
const OF_PCRE: Readonly<Record<string, string>> = {
  any: '[^]',
  'l&': '\\p{LC}',
  xan: '[\\p{L}\\p{N}]',
  xwd: '[\\p{L}\\p{N}_]',
  xsp: '[\\p{Z}\\t-\\r]',
  xps: '[\\p{Z}\\t-\\r]',
};

/** The sets that were read, by name. Finding one takes a test of every code point. */
const known = new Map<string, CodePoints | undefined>();

/** Reads `p{Lu}`, `pL`, `P{^Greek}` after a backslash: a category, a script or a binary property that V8 also knows. */
export function readProperty(scanner: Scanner): CodePoints {
  const start = scanner.at - 1;
  const [text, letter = '', inverse, braced, single = ''] =
    scanner.take(/([pP])(?:\{(\^?)([^}]*)\}|([A-Z]))/y) ?? [];
  if (text === undefined) throw scanner.fault('malformed \\P or \\p sequence', start + 2);
  const set = propertySet((braced ?? single).trim());
  if (!set) throw noEquivalent(`\\${text}`, start);
  return (letter === 'P') === (inverse === '^') ? set : complement(set);
}

function propertySet(name: string): CodePoints | undefined {
  if (!known.has(name)) {
    const pattern = sourcesOf(name)
      .map(compiled)
      .find((found) => found !== undefined);
    known.set(name, pattern && codePointsOf(pattern));
  }
  return known.get(name);
}

/** JavaScript's patterns for a name, which may be written in any case and with other separators. */
function sourcesOf(name: string): readonly string[] {
  const own = OF_PCRE[name.toLowerCase()];
  if (own !== undefined) return [own];
  const [, script] = /^(?:sc|scx|script|scriptextensions)[:=](.+)$/i.exec(name) ?? [];
  const words = (script ?? name).split(/[ _-]+/);
  const title = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()).join('_');
  const scripts = `\\p{scx=${title}}`;
  return script === undefined ? [`\\p{${title}}`, scripts, `\\p{${name}}`] : [scripts];
}

function compiled(source: string): RegExp | undefined {
  try {
    return new RegExp(`^${source}$`, 'u');
  } catch {
    return undefined;
  }
}

function codePointsOf(pattern: RegExp): CodePoints {
  const ranges: Range[] = [];
  let first = -1;
  for (let codePoint = 0; codePoint <= LAST_CODE_POINT + 1; codePoint++) {
    const isIn = codePoint <= LAST_CODE_POINT && pattern.test(String.fromCodePoint(codePoint));
    if (isIn && first < 0) first = codePoint;
    if (isIn || first < 0) continue;
    ranges.push([first, codePoint - 1]);
    first = -1;
  }
  return ranges;
}
