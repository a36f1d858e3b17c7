/** Addresses from `start` to `end`, inclusive, with the index of their value. */
export interface Stretch {
  readonly start: bigint;
  readonly end: bigint;
  readonly value: number;
}

/** The first address of an interval with one value. */
export interface Boundary {
  readonly start: bigint;
  readonly value: number;
}

/**
 * Converts nested or disjoint stretches to boundaries; the innermost stretch decides. The first boundary is 0, and
 * addresses without a stretch have the value -1. `bits` is the length of an address.
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

/** Adds a boundary. It replaces an earlier one at the same address, and is left out if the value stays the same. */
function mark(boundaries: Boundary[], { start, value }: Boundary): void {
  if (boundaries.at(-1)?.start === start) boundaries.pop();
  if (boundaries.at(-1)?.value !== value) boundaries.push({ start, value });
}

/** From `start` to `end`, inclusive; `value` is the index of its value. */
export interface Range {
  readonly start: number;
  readonly end: number;
  readonly value: number;
}

/** A conflict with an earlier range: the same range, whose value is replaced, or one that overlaps. */
interface Conflict {
  readonly kind: 'same' | 'across';
  readonly old: Range;
}

const BLOCK = 0x1_0000;

/**
 * The ranges of one `geo` block with `ranges`, each with the index of its value. As in nginx they are cut at every
 * 65,536 addresses; within such a block, a range either lies inside an earlier one, which it splits, or is disjoint
 * from all.
 */
export class Ranges {
  readonly #blocks = new Map<number, Range[]>();

  /** Adds a range; stops at a range that it overlaps. */
  add(range: Range): readonly Conflict[] {
    const met: Conflict[] = [];
    for (const piece of piecesOf(range)) {
      const found = this.#addPiece(piece);
      if (found) met.push(found);
      if (found?.kind === 'across') break;
    }
    return met;
  }

  /** Removes a range; false if a part of it was missing. */
  delete(range: Omit<Range, 'value'>): boolean {
    let isComplete = true;
    for (const { start, end } of piecesOf({ ...range, value: 0 })) {
      const block = this.#blocks.get(blockOf(start)) ?? [];
      const index = block.findIndex((each) => each.start === start && each.end === end);
      if (index >= 0) block.splice(index, 1);
      else isComplete = false;
    }
    return isComplete;
  }

  boundaries(fallback: number): readonly Boundary[] {
    const stretches: Stretch[] = [...this.#blocks.values()]
      .flat()
      .map(({ start, end, value }) => ({ start: BigInt(start), end: BigInt(end), value }));
    return boundariesOf([{ start: 0n, end: 0xffff_ffffn, value: fallback }, ...stretches], 32);
  }

  #addPiece(piece: Range): Conflict | undefined {
    const block = this.#blocks.get(blockOf(piece.start)) ?? [];
    this.#blocks.set(blockOf(piece.start), block);
    // Searched from the end, since configurations are usually sorted.
    const index = block.findLastIndex(({ start }) => start <= piece.end);
    const old = block[index];
    if (!old || old.end < piece.start) {
      block.splice(index + 1, 0, piece);
      return undefined;
    }
    if (piece.start < old.start || piece.end > old.end) return { kind: 'across', old };
    const before = { ...old, end: piece.start - 1 };
    const after = { ...old, start: piece.end + 1 };
    const pieces = [before, piece, after].filter(({ start, end }) => start <= end);
    block.splice(index, 1, ...pieces);
    return pieces.length === 1 ? { kind: 'same', old } : undefined;
  }
}

function blockOf(address: number): number {
  return Math.floor(address / BLOCK);
}

function* piecesOf({ start, end, value }: Range): Generator<Range> {
  for (let from = start; from <= end; from = (blockOf(from) + 1) * BLOCK)
    yield { start: from, end: Math.min(end, (blockOf(from) + 1) * BLOCK - 1), value };
}
