import { isObject } from '../json.ts';

/** Comparison operators of filters: those of RFC 9535 for equality, and those of PostgREST for parts of a text. */
const COMPARISONS = {
  '==': (value: unknown, literal: Literal) => value === literal,
  '!=': (value: unknown, literal: Literal) => value !== literal,
  '^==': ofTexts((text, part) => text.startsWith(part)),
  '==^': ofTexts((text, part) => text.endsWith(part)),
  '*==': ofTexts((text, part) => text.includes(part)),
};

function ofTexts(
  fits: (text: string, part: string) => boolean,
): (value: unknown, literal: Literal) => boolean {
  return (value, literal) => typeof value === 'string' && typeof literal === 'string' && fits(value, literal);
}

export type Comparison = keyof typeof COMPARISONS;
export type Literal = string | number | boolean | null;

/** A member name, or an index of an array; negative ones count from its end. */
type SingularStep = string | number;

/** Selects the elements of an array, or the members of an object, that a condition holds for. */
export interface FilterStep {
  readonly kind: 'filter';
  /** The path of the compared value within each of them. */
  readonly of: readonly SingularStep[];
  /** Absent where the value only has to exist. */
  readonly test?: { readonly comparison: Comparison; readonly literal: Literal };
  /** It selects texts of arrays only, as PostgREST's own notation does. */
  readonly textsOnly?: true;
}

export type RoleStep = SingularStep | { readonly kind: 'wildcard' } | FilterStep;

/** The path of the role in a token's claims, as plain data. */
export type RolePath = readonly RoleStep[];

/**
 * Compiles a path to a function that returns the value there, or `undefined`. Where a path can lead to several values, it is
 * the first text among them. Inherited members are ignored. Each step goes one level down, so no value is visited twice.
 */
export function compileClaim(path: RolePath): (claims: unknown) => unknown {
  if (path.every(isSingular)) return (claims) => valueAt(claims, path);
  return (claims) => {
    for (const value of valuesAt(claims, path, 0)) if (typeof value === 'string') return value;
    return undefined;
  };
}

function isSingular(step: RoleStep): step is SingularStep {
  return typeof step !== 'object';
}

function valueAt(value: unknown, path: readonly SingularStep[]): unknown {
  let found = value;
  for (const step of path) {
    const key = typeof step === 'number' && step < 0 && Array.isArray(found) ? found.length + step : step;
    const fits = typeof step === 'number' ? Array.isArray(found) : isObject(found);
    if (!fits || !Object.hasOwn(found as object, key)) return undefined;
    found = (found as Record<string | number, unknown>)[key];
  }
  return found;
}

function* valuesAt(value: unknown, path: RolePath, from: number): Generator<unknown> {
  const step = path[from];
  if (step === undefined) yield value;
  else if (isSingular(step)) {
    const found = valueAt(value, [step]);
    if (found !== undefined) yield* valuesAt(found, path, from + 1);
  } else {
    for (const child of childrenOf(value)) {
      const isSelected = step.kind === 'wildcard' || (isListed(value, child, step) && holds(step, child));
      if (isSelected) yield* valuesAt(child, path, from + 1);
    }
  }
}

function childrenOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isObject(value) ? Object.values(value) : [];
}

function isListed(parent: unknown, child: unknown, { textsOnly }: FilterStep): boolean {
  return textsOnly === undefined || (Array.isArray(parent) && typeof child === 'string');
}

function holds({ of, test }: FilterStep, value: unknown): boolean {
  const compared = valueAt(value, of);
  return test ? COMPARISONS[test.comparison](compared, test.literal) : compared !== undefined;
}
