/** Code points from the first to the last, both included. */
export type Range = readonly [first: number, last: number];
export type CodePoints = readonly Range[];

const LAST_CODE_POINT = 0x10ffff;
const FIRST_ASTRAL = 0x10000;
const SURROGATES: Range = [0xd800, 0xdfff];
const CASE_DISTANCE = 0x20;

/** What is not in the set. */
export function complement(set: CodePoints): CodePoints {
  const rest: Range[] = [];
  let from = 0;
  for (const [first, last] of merge(set)) {
    if (first > from) rest.push([from, first - 1]);
    from = last + 1;
  }
  if (from <= LAST_CODE_POINT) rest.push([from, LAST_CODE_POINT]);
  return rest;
}

/** The set with the other case of its ASCII letters: nginx compiles patterns without UTF, so only these have a case. */
export function withBothCases(set: CodePoints): CodePoints {
  const upper = intersect(set, [0x41, 0x5a]).map(([first, last]): Range => [
    first + CASE_DISTANCE,
    last + CASE_DISTANCE,
  ]);
  const lower = intersect(set, [0x61, 0x7a]).map(([first, last]): Range => [
    first - CASE_DISTANCE,
    last - CASE_DISTANCE,
  ]);
  return merge([...set, ...upper, ...lower]);
}

/**
 * A JavaScript expression (no `u` flag) for one character of the set, or not of the set. Characters beyond U+FFFF are
 * pairs of UTF-16 units: a set that tells some of them apart becomes an alternation.
 */
export function classSource(set: CodePoints, negated: boolean): string {
  const merged = merge(set);
  const astral = intersect(merged, [FIRST_ASTRAL, LAST_CODE_POINT]);
  const [whole] = astral;
  const isPlain = whole === undefined || (whole[0] === FIRST_ASTRAL && whole[1] === LAST_CODE_POINT);
  if (isPlain) return `[${negated ? '^' : ''}${intersect(merged, [0, 0xffff]).map(rangeSource).join('')}]`;
  return alternationSource(negated ? complement(merged) : merged);
}

function alternationSource(set: CodePoints): string {
  const units = [...intersect(set, [0, SURROGATES[0] - 1]), ...intersect(set, [SURROGATES[1] + 1, 0xffff])];
  const pairs = intersect(set, [FIRST_ASTRAL, LAST_CODE_POINT]).flatMap(pairSources);
  const plain = units.length === 0 ? [] : [`[${units.map(rangeSource).join('')}]`];
  return `(?:${[...plain, ...pairs].join('|')})`;
}

/** One astral range, cut where the high surrogate changes; whole blocks stay together. */
function pairSources([first, last]: Range): string[] {
  const [firstHigh, lastHigh] = [highOf(first), highOf(last)];
  if (firstHigh === lastHigh) return [pairSource([firstHigh, firstHigh], [lowOf(first), lowOf(last)])];
  const sources: string[] = [];
  const startsBlock = lowOf(first) === 0xdc00;
  const endsBlock = lowOf(last) === 0xdfff;
  if (!startsBlock) sources.push(pairSource([firstHigh, firstHigh], [lowOf(first), 0xdfff]));
  const whole: Range = [startsBlock ? firstHigh : firstHigh + 1, endsBlock ? lastHigh : lastHigh - 1];
  if (whole[0] <= whole[1]) sources.push(pairSource(whole, [0xdc00, 0xdfff]));
  if (!endsBlock) sources.push(pairSource([lastHigh, lastHigh], [0xdc00, lowOf(last)]));
  return sources;
}

const pairSource = (high: Range, low: Range): string => `[${rangeSource(high)}][${rangeSource(low)}]`;
const highOf = (codePoint: number): number => 0xd800 + ((codePoint - FIRST_ASTRAL) >> 10);
const lowOf = (codePoint: number): number => 0xdc00 + ((codePoint - FIRST_ASTRAL) & 0x3ff);

function rangeSource([first, last]: Range): string {
  if (first === last) return unitSource(first);
  return `${unitSource(first)}${last === first + 1 ? '' : '-'}${unitSource(last)}`;
}

function unitSource(unit: number): string {
  const character = String.fromCharCode(unit);
  if (/[\w ~!"#$%&'()*+,./:;<=>?@`{|}]/.test(character)) return character;
  return unit < 0x80 && unit > 0x20 ? `\\${character}` : `\\u${unit.toString(16).padStart(4, '0')}`;
}

function intersect(set: CodePoints, [low, high]: Range): CodePoints {
  return set
    .filter(([first, last]) => last >= low && first <= high)
    .map(([first, last]): Range => [Math.max(first, low), Math.min(last, high)]);
}

/** Sorted, without overlaps and seams. */
function merge(set: CodePoints): CodePoints {
  const merged: [number, number][] = [];
  for (const [first, last] of [...set].sort((a, b) => a[0] - b[0])) {
    const previous = merged.at(-1);
    if (previous && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else merged.push([first, last]);
  }
  return merged;
}
