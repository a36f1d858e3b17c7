import type { AST } from '@eslint-community/regexpp';

/** A set of UTF-16 units: a bit for each of ASCII, and one for all others together. */
type Units = bigint;

const OTHERS: Units = 1n << 128n;
const ALL: Units = (OTHERS << 1n) - 1n;

/** How a part of a pattern begins. */
export interface Beginning {
  /** What its first character may be; more than that where it is not known. */
  readonly units: Units;
  /** It may match without a character, so that what follows it begins instead. */
  readonly isOptional: boolean;
  /** How many steps it takes at most to see that none of them comes. */
  readonly checks: number;
}

/** Where the text ends, or the match: there is nothing to be tried. */
export const NOTHING: Beginning = { units: 0n, isOptional: false, checks: 1 };
const EMPTY: Beginning = { units: 0n, isOptional: true, checks: 1 };
/** Known by no more than a step: a look-around may take many. */
const UNKNOWN: Beginning = { units: ALL, isOptional: true, checks: 1 };

/** A text that begins one way never begins the other way. */
export function areDisjoint(one: Beginning, other: Beginning): boolean {
  return (one.units & other.units) === 0n;
}

export function either(parts: readonly Beginning[]): Beginning {
  return {
    units: parts.reduce((units, part) => units | part.units, 0n),
    isOptional: parts.some(({ isOptional }) => isOptional),
    checks: parts.reduce((checks, part) => checks + part.checks, 1),
  };
}

/** Of one part with another behind it. */
export function chained(first: Beginning, then: Beginning): Beginning {
  if (!first.isOptional) return first;
  return { ...either([first, then]), isOptional: then.isOptional };
}

/** Read from the left, or from the right in a look-behind. */
export function beginningOf(element: AST.Element, behind: boolean): Beginning {
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
