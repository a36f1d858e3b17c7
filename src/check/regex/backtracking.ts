import type { AST } from '../../config/index.ts';
import { RegExpParser } from '../../config/index.ts';
import { analyse } from 'scslre';
import type { Pattern } from './pattern.ts';
import { elementsText } from './sample.ts';

/** How a pattern backtracks on a text that it does not match in the end. */
export interface Backtracking {
  readonly isExponential: boolean;
  /** How such a text begins. */
  readonly attack: string;
}

const REPEATED = 6;

/** The worst that is known of a pattern; `undefined` where it takes no more than linear time from one place. */
export function backtrackingOf({ ast }: Pattern): Backtracking | undefined {
  const flags = new RegExpParser().parseFlags('');
  // That a pattern without "^" is tried at every place is so of nearly all of them, and costs little.
  const { reports } = analyse({ pattern: ast, flags }, { reportTypes: { Move: false } });
  const worst = reports.find(({ exponential }) => exponential) ?? reports[0];
  if (!worst || worst.type === 'Move') return undefined;
  const quantifier = worst.type === 'Trade' ? worst.startQuant : worst.quant;
  const attack = `${textBefore(quantifier)}${worst.character.pick.repeat(REPEATED)}`;
  return { isExponential: worst.exponential, attack };
}

/** What a text may have in front of a part of the pattern. */
function textBefore(node: AST.Node | null): string {
  if (!node?.parent) return '';
  const { parent } = node;
  const outer = textBefore(parent);
  if (parent.type !== 'Alternative') return outer;
  const before = parent.elements.slice(0, parent.elements.indexOf(node as AST.Element));
  return outer + (elementsText(before.filter(({ type }) => type !== 'Assertion')) ?? '');
}
