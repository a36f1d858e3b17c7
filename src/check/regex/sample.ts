import type { AST } from '../../config/index.ts';
import { unitsOf } from './machine.ts';
import { PREFERRED } from './search.ts';

/** The characters that an example takes where a set leaves the choice. */
const UNITS = unitsOf(`${PREFERRED}% `);

/** A short text of a pattern, made without an automaton. */
export interface Sample {
  readonly text: string;
  /** The pattern says that the text begins there. */
  readonly isStart: boolean;
}

/** An example of what a pattern matches; `undefined` where it is not obvious. It is only likely to match: ask the pattern. */
export function sampleOf({ alternatives }: AST.Pattern): Sample | undefined {
  const [first] = alternatives;
  const text = first && alternative(first);
  if (text === undefined) return undefined;
  const [begin] = first?.elements ?? [];
  return { text, isStart: begin?.type === 'Assertion' && begin.kind === 'start' };
}

function alternative({ elements }: AST.Alternative): string | undefined {
  return elementsText(elements);
}

/** A text that some elements in a row are likely to match. */
export function elementsText(elements: readonly AST.Element[]): string | undefined {
  let text = '';
  for (const element of elements) {
    const part = elementText(element);
    if (part === undefined) return undefined;
    text += part;
  }
  return text;
}

function elementText(element: AST.Element): string | undefined {
  switch (element.type) {
    case 'Character':
      return String.fromCharCode(element.value);
    case 'CharacterClass':
    case 'CharacterSet':
      return oneOf(element.raw);
    case 'Group':
    case 'CapturingGroup':
      return element.alternatives[0] && alternative(element.alternatives[0]);
    case 'Quantifier':
      return repeated(element);
    case 'Assertion':
      return element.kind === 'start' || element.kind === 'end' ? '' : undefined;
    case 'Backreference':
    case 'ExpressionCharacterClass':
      return undefined;
  }
}

/** The text that every match begins with, small letters for both cases; empty where the pattern leaves it open. */
export function fixedStart({ alternatives }: AST.Pattern): string {
  const [only, ...others] = alternatives;
  const [begin, ...rest] = only?.elements ?? [];
  if (others.length > 0 || begin?.type !== 'Assertion' || begin.kind !== 'start') return '';
  let text = '';
  for (const element of rest) {
    const letter = letterOf(element);
    if (letter === undefined) break;
    text += letter;
  }
  return text;
}

/** A character, or a class of both cases of one: what `~*` makes of a letter. */
function letterOf(element: AST.Element): string | undefined {
  if (element.type === 'Character') return String.fromCharCode(element.value);
  if (element.type !== 'CharacterClass' || element.negate) return undefined;
  const letters = element.elements.map((each) =>
    each.type === 'Character' ? String.fromCharCode(each.value).toLowerCase() : undefined,
  );
  return new Set(letters).size === 1 ? letters[0] : undefined;
}

function oneOf(raw: string): string | undefined {
  const set = new RegExp(`^${raw}$`);
  const unit = UNITS.find((code) => set.test(String.fromCharCode(code)));
  return unit === undefined ? undefined : String.fromCharCode(unit);
}

function repeated({ element, min }: AST.Quantifier): string | undefined {
  return min === 0 ? '' : elementText(element)?.repeat(min);
}
