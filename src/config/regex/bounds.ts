import { setFlagsFromString } from 'node:v8';
import { type AST, RegExpParser } from '@eslint-community/regexpp';

/** A set of UTF-16 units: a bit for each of ASCII, and one for all others together. */
type Units = bigint;

const OTHERS: Units = 1n << 128n;
const ALL: Units = (OTHERS << 1n) - 1n;

/** How a part of a pattern begins. */
interface Beginning {
  /** What its first character may be; more than that where it is not known. */
  readonly units: Units;
  /** It may match without a character, so that what follows it begins instead. */
  readonly isOptional: boolean;
  /** How many steps it takes at most to see that none of them comes. */
  readonly checks: number;
}

/** Where the text ends, or the match: there is nothing to be tried. */
const NOTHING: Beginning = { units: 0n, isOptional: false, checks: 1 };
const EMPTY: Beginning = { units: 0n, isOptional: true, checks: 1 };
/** Known by no more than a step: a look-around may take many. */
const UNKNOWN: Beginning = { units: ALL, isOptional: true, checks: 1 };

/** A text that begins one way never begins the other way. */
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

/** Of one part with another behind it. */
function chained(first: Beginning, then: Beginning): Beginning {
  if (!first.isOptional) return first;
  return { ...either([first, then]), isOptional: then.isOptional };
}

/** Read from the left, or from the right in a look-behind. */
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
 * How long a text may be so that no text of that length takes more than some 50 ms, by the engine that matches it. V8 has
 * two: the usual one backtracks, the other one takes linear time but declines look-arounds, back-references and large counts.
 */
export interface RegexBounds {
  /** V8's usual engine, at its worst. */
  readonly usual: number;
  /** V8's linear engine; 0 when it declines the pattern. */
  readonly linear: number;
}

/** V8's usual engine takes one to three nanoseconds per step, its linear one up to a hundred. Measured, Node 20.20. */
const USUAL_STEPS = 16_000_000;
const LINEAR_STEPS = 400_000;
/** How often V8's usual engine may backtrack before the linear one takes over, where that takes the pattern. */
const MAX_BACKTRACKS = 4_000;
/** Between two of them the usual engine may read the whole text: up to this length it is given every such pattern. */
const GUARDED_LENGTH = 2048;
const MAX_LENGTH = 2 ** 24;

/** Sets the flags of V8 that the bounds count on: before the first thread that matches starts. */
export function guardRegexes(): void {
  setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');
  setFlagsFromString(`--regexp-backtracks-before-fallback=${MAX_BACKTRACKS}`);
}

/** For a pattern in JavaScript's terms, without flags. */
export function boundsOf(source: string): RegexBounds {
  const pattern = new RegExpParser().parsePattern(source);
  const cost = costOf(pattern);
  const usual = longest((length) => cost(length).steps <= USUAL_STEPS);
  if (!linearRegex(source)) return { usual, linear: 0 };
  const size = sizeOf(pattern);
  return { usual: Math.max(usual, GUARDED_LENGTH), linear: Math.floor(LINEAR_STEPS / size) };
}

/** How many steps backtracking takes at most, by the length of the text. */
export function mostSteps(source: string): (length: number) => number {
  const cost = costOf(new RegExpParser().parsePattern(source));
  return (length) => cost(length).steps;
}

/** V8's own flag. */
const LINEAR_ENGINE = 'l';
let isEnabled = false;

/** A pattern for V8's linear engine; `undefined` when that declines it. */
export function linearRegex(source: string): RegExp | undefined {
  if (!isEnabled) setFlagsFromString('--enable-experimental-regexp-engine');
  isEnabled = true;
  try {
    return new RegExp(source, LINEAR_ENGINE);
  } catch {
    return undefined;
  }
}

/** The largest power of two for which the condition holds; it must hold for all lengths below one for which it does. */
function longest(isFine: (length: number) => boolean): number {
  let length = 1;
  while (length < MAX_LENGTH && isFine(length * 2)) length *= 2;
  return length;
}

/** Upper bounds: the steps until every way through a part has been tried, and the ways after which the match goes on. */
interface Work {
  readonly ways: number;
  readonly steps: number;
}

/** By the length of the text. */
type Cost = (length: number) => Work;

/** Where in a pattern a part stands. */
interface Around {
  /** How what comes behind it begins. */
  readonly next: Beginning;
  /** In a look-behind, which reads from the right. */
  readonly behind: boolean;
}

const ONE: Cost = () => ({ ways: 1, steps: 1 });

/** Tried at every place of the text, unless the pattern says where to begin. */
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
      // Where the first character decides, no more than one of them leads on.
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

/** Each way through what comes before tries what follows. */
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

/** What a look-around has found is never tried another way. */
function lookaround({ kind, alternatives }: AST.LookaroundAssertion): Cost {
  const inside = choice(alternatives, { next: NOTHING, behind: kind === 'lookbehind' });
  return (length) => ({ ways: 1, steps: inside(length).steps + 1 });
}

function repeated({ min, max, element }: AST.Quantifier, { next, behind }: Around): Cost {
  const again = beginningOf(element, behind);
  const round = elementCost(element, { next: either([again, next]), behind });
  // After each round the next character decides whether another one comes.
  const isDecided = !again.isOptional && !next.isOptional && areDisjoint(again, next);
  return (length) => {
    const once = round(length);
    // A round beyond the least ones takes a character at least.
    const rounds = Math.min(max, min + length);
    // Every round multiplies the ways of those before it.
    const ends = once.ways === 1 ? rounds + 1 : once.ways ** (rounds + 1) / (once.ways - 1);
    return {
      ways: once.ways > 1 ? ends : isDecided ? 1 : rounds - min + 1,
      steps: ends * (once.steps + next.checks),
    };
  };
}

/** States of the linear engine, which writes counts out. Each may be alive at each character. */
function sizeOf(node: AST.Pattern | AST.Alternative | AST.Element): number {
  const sum = (parts: readonly (AST.Alternative | AST.Element)[]): number =>
    parts.reduce((size, part) => size + sizeOf(part), 1);
  if ('alternatives' in node) return sum(node.alternatives);
  if (node.type === 'Alternative') return sum(node.elements);
  if (node.type !== 'Quantifier') return 1;
  const { min, max, element } = node;
  return Math.max(max === Infinity ? min + 1 : max, 1) * (sizeOf(element) + 1);
}
