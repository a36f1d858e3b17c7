import { classSource, withBothCases } from './code-points.ts';
import type { Flags } from './flags.ts';
import type { Groups } from './groups.ts';
import type { Scanner } from './scanner.ts';

/** A piece of JavaScript that a quantifier applies to as a whole. */
export interface Atom {
  readonly source: string;
  /** `character` consumes one character; `fixed` takes no quantifier. */
  readonly kind: 'character' | 'group' | 'lookaround' | 'fixed';
}

/** A back-reference to a group that does not exist yet. */
export interface ForwardReference {
  readonly construct: string;
  readonly target: number | string;
  readonly offset: number;
  /** Where PCRE puts its finger when the group never comes. */
  readonly missingAt: number;
}

/** The state of one translation. */
export interface Reading {
  readonly scanner: Scanner;
  readonly groups: Groups;
  readonly forwardReferences: ForwardReference[];
  flags: Flags;
  /** How many look-arounds, and among them look-behinds, enclose this place. */
  lookarounds: number;
  lookbehinds: number;
  /** Everything up to a closing parenthesis or the end. */
  alternatives(): string;
}

export const character = (source: string): Atom => ({ source, kind: 'character' });
export const fixed = (source: string): Atom => ({ source, kind: 'fixed' });

/** One character that stands for itself, or for both cases of an ASCII letter. */
export function literal(codePoint: number, caseless: boolean): Atom {
  const text = String.fromCodePoint(codePoint);
  if (caseless && /[A-Za-z]/.test(text)) {
    return character(classSource(withBothCases([[codePoint, codePoint]]), false));
  }
  if (codePoint > 0xffff) return character(`(?:${text})`);
  if (/[\^$\\.*+?()[\]{}|]/.test(text)) return character(`\\${text}`);
  return character(
    codePoint < 0x20 || codePoint === 0x7f ? `\\x${codePoint.toString(16).padStart(2, '0')}` : text,
  );
}
