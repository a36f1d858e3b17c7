/** Addresses from `start` to `end`, both included, with the index of their value. */
export interface Stretch {
  readonly start: bigint;
  readonly end: bigint;
  readonly value: number;
}

/** Where another value begins. */
export interface Boundary {
  readonly start: bigint;
  readonly value: number;
}

/**
 * Stretches that lie in each other or apart, never across, as boundaries: the innermost decides. The first boundary is 0;
 * what no stretch covers has the value -1. `bits` is the length of an address.
 */
export function boundariesOf(stretches: readonly Stretch[], bits: 32 | 128): readonly Boundary[] {
  const behindAll = 1n << BigInt(bits);
  const boundaries: Boundary[] = [{ start: 0n, value: -1 }];
  const open: Stretch[] = [];
  const closeBefore = (start: bigint): void => {
    for (let inner = open.at(-1); inner && inner.end < start; inner = open.at(-1)) {
      open.pop();
      const next = inner.end + 1n;
      if (next < behindAll) mark(boundaries, { start: next, value: open.at(-1)?.value ?? -1 });
    }
  };
  for (const stretch of stretches.toSorted(outerFirst)) {
    closeBefore(stretch.start);
    mark(boundaries, stretch);
    open.push(stretch);
  }
  closeBefore(behindAll);
  return boundaries;
}

function outerFirst(a: Stretch, b: Stretch): number {
  if (a.start !== b.start) return a.start < b.start ? -1 : 1;
  return a.end > b.end ? -1 : 1;
}

/** A later boundary at the same place takes the place of the earlier one; one that changes nothing is left out. */
function mark(boundaries: Boundary[], { start, value }: Boundary): void {
  if (boundaries.at(-1)?.start === start) boundaries.pop();
  if (boundaries.at(-1)?.value !== value) boundaries.push({ start, value });
}
