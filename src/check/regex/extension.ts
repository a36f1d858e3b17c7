import type { AST } from '../../config/index.ts';

/** How a pattern ends that is about names with some extension: `\.php`, `\.(?:jpe?g|png)$`. */
export interface ExtensionEnd {
  /** It says that the text ends there. */
  readonly isAnchored: boolean;
}

const MAX_LENGTH = 6;

/** `undefined` where not every alternative of the pattern ends in an extension. A name such as `/\.git` has none. */
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
  if (!isUnit(body[dot], '.') || isUnit(before, '/') || length === 0 || length > MAX_LENGTH) return undefined;
  return body.slice(dot + 1).some(hasLetter) ? { isAnchored } : undefined;
}

function isUnit(element: AST.Element | undefined, unit: string): boolean {
  return element?.type === 'Character' && element.value === unit.charCodeAt(0);
}

/** Nothing but letters and digits, or a choice of them. */
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
