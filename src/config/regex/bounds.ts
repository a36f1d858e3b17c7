import { setFlagsFromString } from 'node:v8';
import type { AST } from '@eslint-community/regexpp';
import { RegExpParser } from '@eslint-community/regexpp';
import { areDisjoint, beginningOf, chained, either, NOTHING } from './beginning.ts';
import type { Beginning } from './beginning.ts';

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
/**
 * Where the linear engine is there to take over, V8 turns to it after 4,000 backtracks (`guardRegexes`), and between two of
 * them the usual one may read the whole text.
 */
const GUARDED_LENGTH = 2048;
const MAX_LENGTH = 2 ** 24;

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
