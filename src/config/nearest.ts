import type { Fix, Span } from '../../grammar/index.ts';

/** The candidate that is nearest to a misspelt word; `undefined` if none is near. Case does not count. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const given = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.min(3, Math.ceil(given.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(given, candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** The fix that replaces a word by a near name. It is not safe, because only the author knows what was meant. */
export function renaming(span: Span, near: string): Fix {
  return { title: `replace it with "${near}"`, safe: false, edits: [{ span, text: near }] };
}

/**
 * The number of insertions, deletions, substitutions and swaps of neighbours between two words (optimal string
 * alignment); counting stops at `limit`.
 */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        (previous[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (previous[column - 1] as number) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, (beforePrevious[column - 2] as number) + 1);
      }
      current.push(cost);
    }
    if (Math.min(...current) >= limit) return limit;
    [beforePrevious, previous] = [previous, current];
  }
  return previous[b.length] as number;
}
