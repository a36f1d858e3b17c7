import type { Scanner } from './scanner.ts';

const MAX_COUNT = 65_535;

/** How often an atom may repeat. */
export interface Quantifier {
  readonly min: number;
  /** `Infinity` when open. */
  readonly max: number;
  readonly mode: 'greedy' | 'lazy' | 'possessive';
}

/** Reads a quantifier if one comes next. A `{` that begins none is a plain character, `{,n}` included (PCRE2 before 10.43). */
export function readQuantifier(scanner: Scanner, ungreedy: boolean): Quantifier | undefined {
  const bounds = readBounds(scanner);
  if (!bounds) return undefined;
  if (scanner.eat('+')) return { ...bounds, mode: 'possessive' };
  const isLazy = scanner.eat('?') !== ungreedy;
  return { ...bounds, mode: isLazy ? 'lazy' : 'greedy' };
}

function readBounds(scanner: Scanner): { readonly min: number; readonly max: number } | undefined {
  if (scanner.eat('*')) return { min: 0, max: Infinity };
  if (scanner.eat('+')) return { min: 1, max: Infinity };
  if (scanner.eat('?')) return { min: 0, max: 1 };
  const counted = scanner.take(/\{(\d+)(,(\d*))?\}/y);
  if (!counted) return undefined;
  const [, first = '', open, second] = counted;
  const min = Number(first);
  const max = open === undefined ? min : second ? Number(second) : Infinity;
  const end = scanner.at - 1;
  if (min > MAX_COUNT || (max !== Infinity && max > MAX_COUNT)) {
    throw scanner.fault('number too big in {} quantifier', end);
  }
  if (max < min) throw scanner.fault('numbers out of order in {} quantifier', end);
  return { min, max };
}

/** The quantified atom. A possessive one must be a single character: it is taken as often as it comes, then none may follow. */
export function quantified(atom: string, { min, max, mode }: Quantifier): string {
  if (mode !== 'possessive' || min === max) return `${atom}${bounds(min, max)}${mode === 'lazy' ? '?' : ''}`;
  const taken = `${atom}${bounds(min, max === Infinity ? max : max - 1)}(?!${atom})`;
  return max === Infinity ? `(?:${taken})` : `(?:${atom}${bounds(max, max)}|${taken})`;
}

function bounds(min: number, max: number): string {
  if (max === Infinity) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`;
  if (min === 0 && max === 1) return '?';
  return min === max ? `{${min}}` : `{${min},${max}}`;
}
