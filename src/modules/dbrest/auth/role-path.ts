import { isObject } from '../../../json.ts';

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

type Comparison = keyof typeof COMPARISONS;
type Literal = string | number | boolean | null;

/** A member name, or an index of an array; negative ones count from its end. */
type SingularStep = string | number;

/** Selects the elements of an array, or the members of an object, that a condition holds for. */
interface FilterStep {
  readonly kind: 'filter';
  /** The path of the compared value within each of them. */
  readonly of: readonly SingularStep[];
  /** Absent where the value only has to exist. */
  readonly test?: { readonly comparison: Comparison; readonly literal: Literal };
  /** It selects texts of arrays only, as PostgREST's own notation does. */
  readonly textsOnly?: true;
}

type RoleStep = SingularStep | { readonly kind: 'wildcard' } | FilterStep;

/** The path of the role in a token's claims, as plain data. */
export type RolePath = readonly RoleStep[];

/**
 * Compiles a path to a function that returns the value there, or `undefined`. If a path leads to several values, the
 * result is the first text. Inherited members are ignored. Each step goes one level down, so no value is visited twice.
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

const LONGEST_PATH = 1_024;

const TEXT = String.raw`"((?:[^"\\]|\\.)*)"`;
const STEP = new RegExp(
  String.raw`\.(?:${TEXT}|([\p{L}\p{N}_$@-]+))|\[(\d{1,6})\]|\[\?\(@ *(==\^|[*^]==|[!=]=) *${TEXT}\)\]$`,
  'suy',
);

/**
 * Parses a name such as `role`, a path such as `.app."https://x/roles"[0]` or `.roles[?(@ ^== "app_")]` (PostgREST,
 * `jwt-role-claim-key`), or a JSONPath such as `$.roles[?@ == 'author']` (RFC 9535).
 */
export function readRolePath(text: string): RolePath | { readonly fault: string } {
  if (text === '') return { fault: 'it is empty' };
  if (text.length > LONGEST_PATH) return { fault: `it is longer than ${LONGEST_PATH} characters` };
  if (text.startsWith('$')) return readJsonPath(text);
  if (!/^[.[]/.test(text)) return [text];
  const path: RoleStep[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const from = STEP.lastIndex;
    const [, quoted, name, index, comparison, literal = ''] = STEP.exec(text) ?? [];
    if (index !== undefined) path.push(Number(index));
    else if (quoted !== undefined) path.push(unescaped(quoted));
    else if (name !== undefined) path.push(name);
    else if (comparison !== undefined) {
      const test = { comparison: comparison as Comparison, literal: unescaped(literal) };
      path.push({ kind: 'filter', of: [], test, textsOnly: true });
    } else return { fault: `malformed at character ${from + 1}` };
  }
  return path;
}

function unescaped(quoted: string): string {
  return quoted.replace(/\\(.)/gs, '$1');
}

/** Thrown in this file only. */
class PathFault extends Error {}

/** Parts of RFC 9535 that are not supported, by their beginning. They are looked for where anything else is a fault. */
const UNSUPPORTED: readonly (readonly [start: RegExp, what: string])[] = [
  [/\.\./y, 'descendant segments ("..")'],
  [/,/y, 'several selectors in one pair of brackets (",")'],
  [/-?\d*\s*:/y, 'slices (":")'],
  [/&&|\|\|/y, 'logical operators ("&&", "||")'],
  [/!(?!=)/y, 'negations ("!")'],
  [/[<>]=?/y, 'comparisons of order ("<", ">")'],
  [/[a-z][a-z_0-9]*\s*\(/y, 'functions'],
  [/\$/y, 'paths from "$" in a filter'],
];

const BLANK = /[ \t\n\r]*/y;
/** `member-name-shorthand`. */
const NAME = /[A-Za-z_\u0080-\u{D7FF}\u{E000}-\u{10FFFF}][\w\u0080-\u{D7FF}\u{E000}-\u{10FFFF}]*/uy;
const INDEX = /(?:0|-?[1-9]\d{0,5})(?!\d|\s*:)/y;
/** Strings contain no control characters below a blank. */
const DOUBLE = /"(?:[ !#-[\]-\u{10FFFF}]|\\["\\/bfnrt]|\\u[\dA-Fa-f]{4})*"/uy;
const SINGLE = /'(?:[ -&(-[\]-\u{10FFFF}]|\\['\\/bfnrt]|\\u[\dA-Fa-f]{4})*'/uy;
const COMPARISON = /==\^|[*^]==|[!=]=/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

/**
 * Parses the part of RFC 9535 that names a role: members (`$.a`, `$['a']`), indexes, wildcards, and filters that
 * compare a value with a literal (`[?@.kind == 'x']`) or ask whether it exists, with the operators of PostgREST for
 * parts of a text too. The fault names a part that is not supported.
 */
function readJsonPath(text: string): RolePath | { readonly fault: string } {
  try {
    return new JsonPathParser(text).path();
  } catch (error) {
    if (error instanceof PathFault) return { fault: error.message };
    throw error;
  }
}

class JsonPathParser {
  readonly #text: string;
  #at = 1;

  /** `text` begins with `$`. */
  constructor(text: string) {
    this.#text = text;
  }

  path(): RolePath {
    const path: RoleStep[] = [];
    for (;;) {
      const end = this.#at;
      this.#take(BLANK);
      if (this.#at === this.#text.length && end === this.#at) return path;
      path.push(this.#segment());
    }
  }

  #segment(): RoleStep {
    if (this.#text.startsWith('..', this.#at)) this.#refuse();
    if (this.#has('.')) return this.#has('*') ? WILDCARD : (this.#take(NAME) ?? this.#refuse());
    if (!this.#has('[')) this.#refuse();
    this.#take(BLANK);
    const selector = this.#selector();
    this.#take(BLANK);
    if (!this.#has(']')) this.#refuse();
    return selector;
  }

  #selector(): RoleStep {
    if (this.#has('*')) return WILDCARD;
    if (this.#has('?')) return this.#filter();
    return this.#string() ?? this.#index() ?? this.#refuse();
  }

  #index(): number | undefined {
    const digits = this.#take(INDEX);
    return digits === undefined ? undefined : Number(digits);
  }

  #filter(): FilterStep {
    this.#take(BLANK);
    const isEnclosed = this.#has('(');
    this.#take(BLANK);
    if (!this.#has('@')) this.#refuse();
    const of: (string | number)[] = [];
    while (/[.[]/.test(this.#text[this.#at] ?? '')) {
      const step = this.#segment();
      if (typeof step === 'object') throw new PathFault('the path behind "@" may lead to several values');
      of.push(step);
    }
    this.#take(BLANK);
    const comparison = this.#take(COMPARISON) as NonNullable<FilterStep['test']>['comparison'] | undefined;
    this.#take(BLANK);
    const filter = { kind: 'filter', of } as const;
    const compared = comparison && { ...filter, test: { comparison, literal: this.#literal() } };
    this.#take(BLANK);
    if (isEnclosed && !this.#has(')')) this.#refuse();
    return compared ?? filter;
  }

  #literal(): Literal {
    if (this.#text[this.#at] === '@') throw new PathFault('comparisons of two paths are not supported');
    const string = this.#string();
    if (string !== undefined) return string;
    const written = this.#take(NUMBER) ?? this.#take(WORD) ?? this.#refuse();
    return JSON.parse(written) as Literal;
  }

  #string(): string | undefined {
    const double = this.#take(DOUBLE);
    if (double !== undefined) return JSON.parse(double) as string;
    const single = this.#take(SINGLE)?.slice(1, -1);
    if (single === undefined) return undefined;
    const escaped = single.replace(/\\.|"/gs, (found) =>
      found === '"' ? '\\"' : found === "\\'" ? "'" : found,
    );
    return JSON.parse(`"${escaped}"`) as string;
  }

  #has(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #refuse(): never {
    for (const [start, what] of UNSUPPORTED) {
      start.lastIndex = this.#at;
      if (start.test(this.#text)) throw new PathFault(`${what} are not supported`);
    }
    throw new PathFault(`malformed at character ${this.#at + 1}`);
  }
}

const WILDCARD = { kind: 'wildcard' } as const;
