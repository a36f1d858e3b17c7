import type { AST } from '../../../config/index.ts';
import { PREFERRED, unitsOf } from './machine.ts';

/** The characters from which examples choose in a set. */
const UNITS = unitsOf(`${PREFERRED}% `);

/** A short text that a pattern probably matches, found without an automaton. */
export interface Sample {
  readonly text: string;
  /** True if the pattern is anchored at its start. */
  readonly isStart: boolean;
}

/** A text that a pattern probably matches, to be tested against it; `undefined` if none is obvious. */
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

/** A text that consecutive elements probably match. */
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

/** The text that every match begins with, in lower case where both cases match; '' if there is none. */
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

/** The letter of a character or of a class with both its cases, as `~*` produces it. */
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

/** The end of a pattern for names with an extension: `\.php`, `\.(?:jpe?g|png)$`. */
interface ExtensionEnd {
  /** True if the pattern is anchored at its end. */
  readonly isAnchored: boolean;
}

const MAX_EXTENSION_LENGTH = 6;

/** The extension that a pattern ends with; `undefined` if an alternative has none. A name such as `/\.git` has none. */
export function extensionEnd({ alternatives }: AST.Pattern): ExtensionEnd | undefined {
  const ends = alternatives.map(({ elements }) => endOf(elements));
  const [first] = ends;
  return first && ends.every((end) => end?.isAnchored === first.isAnchored) ? first : undefined;
}

function endOf(elements: readonly AST.Element[]): ExtensionEnd | undefined {
  const last = elements.at(-1);
  const isAnchored = last?.type === 'Assertion' && last.kind === 'end';
  const body = isAnchored ? elements.slice(0, -1) : elements;
  const dot = body.findLastIndex((element) => !isExtension(element));
  const length = body.length - 1 - dot;
  const before = body[dot - 1];
  if (!isUnit(body[dot], '.') || isUnit(before, '/') || length === 0 || length > MAX_EXTENSION_LENGTH)
    return undefined;
  return body.slice(dot + 1).some(hasLetter) ? { isAnchored } : undefined;
}

function isUnit(element: AST.Element | undefined, unit: string): boolean {
  return element?.type === 'Character' && element.value === unit.charCodeAt(0);
}

/** True for letters and digits, or a choice of them. */
function isExtension(element: AST.Element): boolean {
  switch (element.type) {
    case 'Character':
      return /\w/.test(String.fromCharCode(element.value));
    case 'CharacterClass':
      return /^\[\w+\]$/.test(element.raw);
    case 'Group':
    case 'CapturingGroup':
      return element.alternatives.every(({ elements }) => elements.length > 0 && elements.every(isExtension));
    case 'Quantifier':
      return element.max === 1 && isExtension(element.element);
    case 'Assertion':
    case 'CharacterSet':
    case 'Backreference':
    case 'ExpressionCharacterClass':
      return false;
  }
}

function hasLetter({ raw }: AST.Element): boolean {
  return /[a-z]/i.test(raw);
}
