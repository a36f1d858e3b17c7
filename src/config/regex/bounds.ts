import { setFlagsFromString } from 'node:v8';
import { type AST, RegExpParser } from '@eslint-community/regexpp';

/** A set of UTF-16 units: one bit for each ASCII unit, and one for all others. */
type Units = bigint;

const OTHERS: Units = 1n << 128n;
const ALL: Units = (OTHERS << 1n) - 1n;

/** The ways in which a part of a pattern can begin. */
interface Beginning {
  /** The possible first units; a superset if they are not known exactly. */
  readonly units: Units;
  /** True if it can match the empty text, so that the next part begins the match. */
  readonly isOptional: boolean;
  /** Maximum number of steps until it is certain that none of them matches. */
  readonly checks: number;
}

/** The end of the text or of the match, where nothing is tried. */
const NOTHING: Beginning = { units: 0n, isOptional: false, checks: 1 };
const EMPTY: Beginning = { units: 0n, isOptional: true, checks: 1 };
/** A part of which nothing is known; deciding a look-around may take many steps. */
const UNKNOWN: Beginning = { units: ALL, isOptional: true, checks: 1 };

/** True if no text can begin in both ways. */
function areDisjoint(one: Beginning, other: Beginning): boolean {
  return (one.units & other.units) === 0n;
}

function either(parts: readonly Beginning[]): Beginning {
  return {
    units: parts.reduce((units, part) => units | part.units, 0n),
    isOptional: parts.some(({ isOptional }) => isOptional),
    checks: parts.reduce((checks, part) => checks + part.checks, 1),
  };
}

/** The beginning of two parts in a row. */
function chained(first: Beginning, then: Beginning): Beginning {
  if (!first.isOptional) return first;
  return { ...either([first, then]), isOptional: then.isOptional };
}

/** The beginning of an element, read from the left, or from the right in a look-behind. */
function beginningOf(element: AST.Element, behind: boolean): Beginning {
  switch (element.type) {
    case 'Group':
    case 'CapturingGroup':
      return either(element.alternatives.map(({ elements }) => beginningOfAll(elements, behind)));
    case 'Quantifier': {
      const once = beginningOf(element.element, behind);
      return element.min === 0 ? { ...once, isOptional: true } : once;
    }
    case 'Assertion':
      if (element.kind === 'end') return behind ? EMPTY : NOTHING;
      return 'alternatives' in element ? UNKNOWN : EMPTY;
    case 'Backreference':
      return UNKNOWN;
    case 'Character':
    case 'CharacterClass':
    case 'CharacterSet':
    case 'ExpressionCharacterClass':
      return { units: unitsOf(element), isOptional: false, checks: 1 };
  }
}

function beginningOfAll(elements: readonly AST.Element[], behind: boolean): Beginning {
  const inOrder = behind ? elements : elements.toReversed();
  return inOrder.reduce((rest, element) => chained(beginningOf(element, behind), rest), EMPTY);
}

function unitsOf(
  node:
    | AST.CharacterClassElement
    | AST.CharacterClass
    | AST.CharacterSet
    | AST.Character
    | AST.ExpressionCharacterClass,
): Units {
  switch (node.type) {
    case 'Character':
      return range(node.value, node.value);
    case 'CharacterClassRange':
      return range(node.min.value, node.max.value);
    case 'CharacterClass': {
      const units = node.elements.reduce((sum, element) => sum | unitsOf(element), 0n);
      return node.negate ? (ALL & ~units) | OTHERS : units;
    }
    case 'CharacterSet':
      return setUnits(node);
    case 'ClassStringDisjunction':
    case 'ExpressionCharacterClass':
      return ALL;
  }
}

function setUnits(node: AST.CharacterSet): Units {
  if (node.kind !== 'digit' && node.kind !== 'word') return ALL;
  const digits = range(0x30, 0x39);
  const units =
    node.kind === 'digit' ? digits : digits | range(0x41, 0x5a) | range(0x61, 0x7a) | range(0x5f, 0x5f);
  return node.negate ? ALL & ~units : units;
}

function range(min: number, max: number): Units {
  const ascii = min < 128 ? (1n << BigInt(Math.min(max, 127) + 1)) - (1n << BigInt(min)) : 0n;
  return max < 128 ? ascii : ascii | OTHERS;
}

/**
 * The longest texts that each engine of V8 matches within some 50 ms. The usual engine backtracks; the linear one takes
 * linear time but declines look-arounds, back-references and large counts.
 */
export interface RegexBounds {
  /** For V8's usual engine in the worst case. */
  readonly usual: number;
  /** For V8's linear engine; 0 if it declines the pattern. */
  readonly linear: number;
}

/** V8's usual engine takes one to three nanoseconds per step, its linear one up to a hundred. Measured, Node 20.20. */
const USUAL_STEPS = 16_000_000;
const LINEAR_STEPS = 400_000;
/** Number of backtracks after which V8's usual engine hands over to the linear one, if that takes the pattern. */
const MAX_BACKTRACKS = 4_000;
/** Between two backtracks the usual engine may read the whole text: texts up to this length always go to it. */
const GUARDED_LENGTH = 2048;
const MAX_LENGTH = 2 ** 24;
const ENABLE_LINEAR = '--enable-experimental-regexp-engine';
const DISABLE_LINEAR = '--no-enable-experimental-regexp-engine';

/**
 * Sets the flags of V8 that the bounds rely on, in the whole process. Each thread that matches text of others calls it
 * before it does. A change of flags makes Node compile its own modules from their text, so it comes after what a
 * program loads.
 */
export function guardRegexes(): void {
  setFlagsFromString(ENABLE_LINEAR);
  setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');
  setFlagsFromString(`--regexp-backtracks-before-fallback=${MAX_BACKTRACKS}`);
}

/** The bounds of a JavaScript pattern without flags. */
export function boundsOf(source: string): RegexBounds {
  const pattern = new RegExpParser().parsePattern(source);
  const cost = costOf(pattern);
  const usual = longest((length) => cost(length).steps <= USUAL_STEPS);
  if (!linearRegex(source)) return { usual, linear: 0 };
  const size = sizeOf(pattern);
  return { usual: Math.max(usual, GUARDED_LENGTH), linear: Math.floor(LINEAR_STEPS / size) };
}

/** A function from the length of a text to the most steps that backtracking takes. */
export function mostSteps(source: string): (length: number) => number {
  const cost = costOf(new RegExpParser().parsePattern(source));
  return (length) => cost(length).steps;
}

/** V8's own flag. */
const LINEAR_ENGINE = 'l';

/** The pattern for V8's linear engine; `undefined` if that declines it. Leaves the flags as they are. */
export function linearRegex(source: string): RegExp | undefined {
  if (withLinear('')) return withLinear(source);
  setFlagsFromString(ENABLE_LINEAR);
  const regex = withLinear(source);
  setFlagsFromString(DISABLE_LINEAR);
  return regex;
}

function withLinear(source: string): RegExp | undefined {
  try {
    return new RegExp(source, LINEAR_ENGINE);
  } catch {
    return undefined;
  }
}

/** The largest power of two for which a condition holds. The condition must be monotonic. */
function longest(isFine: (length: number) => boolean): number {
  let length = 1;
  while (length < MAX_LENGTH && isFine(length * 2)) length *= 2;
  return length;
}

/**
 * Upper bounds of a part: the steps until every path through it has been tried, and the number of paths after which the
 * match continues.
 */
interface Work {
  readonly ways: number;
  readonly steps: number;
}

/** The work as a function of the length of the text. */
type Cost = (length: number) => Work;

/** The surroundings of a part in its pattern. */
interface Around {
  /** The beginning of the next part. */
  readonly next: Beginning;
  /** True in a look-behind, which is read from the right. */
  readonly behind: boolean;
}

const ONE: Cost = () => ({ ways: 1, steps: 1 });

/** The cost of a pattern, which is tried at every offset of the text unless it is anchored. */
function costOf({ alternatives }: AST.Pattern): Cost {
  const once = choice(alternatives, { next: NOTHING, behind: false });
  const isAnchored = alternatives.every(({ elements: [first] }) => isStart(first));
  return (length) => {
    const { ways, steps } = once(length);
    return { ways, steps: isAnchored ? steps + length : steps * (length + 1) };
  };
}

function isStart(element: AST.Element | undefined): boolean {
  return element?.type === 'Assertion' && element.kind === 'start';
}

function choice(alternatives: readonly AST.Alternative[], around: Around): Cost {
  const parts = alternatives.map(({ elements }) => sequence(elements, around));
  const isDecided = areAllDisjoint(parts.map(({ beginning }) => beginning));
  return (length) => {
    const works = parts.map(({ cost }) => cost(length));
    const ways = works.map((work) => work.ways);
    return {
      // If the first character decides, at most one alternative continues.
      ways: isDecided ? Math.max(...ways) : ways.reduce((sum, count) => sum + count, 0),
      steps: works.reduce((sum, { steps }) => sum + steps, 1),
    };
  };
}

function areAllDisjoint(beginnings: readonly Beginning[]): boolean {
  return beginnings.every((one, index) =>
    beginnings.slice(index + 1).every((other) => areDisjoint(one, other)),
  );
}

/** The cost of elements in a row: each path through the first tries the rest. */
function sequence(
  elements: readonly AST.Element[],
  around: Around,
): { readonly cost: Cost; readonly beginning: Beginning } {
  const inOrder = around.behind ? elements.toReversed() : elements;
  const costs: Cost[] = [];
  let beginning = around.next;
  for (const element of inOrder.toReversed()) {
    costs.unshift(elementCost(element, { ...around, next: beginning }));
    beginning = chained(beginningOf(element, around.behind), beginning);
  }
  const cost: Cost = (length) => {
    let ways = 1;
    let steps = 0;
    for (const part of costs) {
      const work = part(length);
      steps += ways * work.steps;
      ways *= work.ways;
    }
    return { ways, steps };
  };
  return { cost, beginning };
}

function elementCost(element: AST.Element, around: Around): Cost {
  switch (element.type) {
    case 'Group':
    case 'CapturingGroup':
      return choice(element.alternatives, around);
    case 'Quantifier':
      return repeated(element, around);
    case 'Backreference':
      return (length) => ({ ways: 1, steps: length });
    case 'Assertion':
      return 'alternatives' in element ? lookaround(element) : ONE;
    case 'Character':
    case 'CharacterClass':
    case 'CharacterSet':
    case 'ExpressionCharacterClass':
      return ONE;
  }
}

/** The cost of a look-around, which is never entered again after a match. */
function lookaround({ kind, alternatives }: AST.LookaroundAssertion): Cost {
  const inside = choice(alternatives, { next: NOTHING, behind: kind === 'lookbehind' });
  return (length) => ({ ways: 1, steps: inside(length).steps + 1 });
}

function repeated({ min, max, element }: AST.Quantifier, { next, behind }: Around): Cost {
  const again = beginningOf(element, behind);
  const round = elementCost(element, { next: either([again, next]), behind });
  // The next character decides after each repetition whether another one follows.
  const isDecided = !again.isOptional && !next.isOptional && areDisjoint(again, next);
  return (length) => {
    const once = round(length);
    // A repetition beyond the minimum consumes at least one character.
    const rounds = Math.min(max, min + length);
    // Each repetition multiplies the paths.
    const ends = once.ways === 1 ? rounds + 1 : once.ways ** (rounds + 1) / (once.ways - 1);
    return {
      ways: once.ways > 1 ? ends : isDecided ? 1 : rounds - min + 1,
      steps: ends * (once.steps + next.checks),
    };
  };
}

/** The number of states in the linear engine, which expands counts. All of them may be active at each character. */
function sizeOf(node: AST.Pattern | AST.Alternative | AST.Element): number {
  const sum = (parts: readonly (AST.Alternative | AST.Element)[]): number =>
    parts.reduce((size, part) => size + sizeOf(part), 1);
  if ('alternatives' in node) return sum(node.alternatives);
  if (node.type === 'Alternative') return sum(node.elements);
  if (node.type !== 'Quantifier') return 1;
  const { min, max, element } = node;
  return Math.max(max === Infinity ? min + 1 : max, 1) * (sizeOf(element) + 1);
}
