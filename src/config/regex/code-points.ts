/** Code points from the first to the last, both included. */
export type Range = readonly [first: number, last: number];
/** A set of code points. */
export type CodePoints = readonly Range[];

export const LAST_CODE_POINT = 0x10ffff;
const CASE_DISTANCE = 0x20;

/** The code points that are not in the set. */
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

/** The set with both cases of its ASCII letters. Only these have cases: nginx compiles patterns without UTF. */
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

/** The part of the set between two code points, both included. */
export function intersect(set: CodePoints, [low, high]: Range): CodePoints {
  return set
    .filter(([first, last]) => last >= low && first <= high)
    .map(([first, last]): Range => [Math.max(first, low), Math.min(last, high)]);
}

/** The set sorted, with overlapping and adjacent ranges joined. */
export function merge(set: CodePoints): CodePoints {
  const merged: [number, number][] = [];
  for (const [first, last] of [...set].sort((a, b) => a[0] - b[0])) {
    const previous = merged.at(-1);
    if (previous && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else merged.push([first, last]);
  }
  return merged;
}
