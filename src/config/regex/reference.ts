import type { Atom, Reading } from './atom.ts';
import { noEquivalent } from './fault.ts';

/** A back-reference as it stands in the pattern. */
export interface Reference {
  /** A name, or a number from 1. */
  readonly target: number | string;
  /** Index of its first character. */
  readonly start: number;
  /** Where PCRE puts its finger when there is no such group. */
  readonly missingAt: number;
}

/**
 * A back-reference. Refused where JavaScript would match more than PCRE or something else: to a group that may be unset,
 * in caseless mode, inside a look-behind (which JavaScript reads from right to left).
 */
export function backReference(reading: Reading, { target, start, missingAt }: Reference): Atom {
  const { scanner, groups, flags } = reading;
  const construct = scanner.pattern.slice(start, scanner.at);
  const number = typeof target === 'number' ? target : groups.numberOf(target);
  if (number === undefined || number > groups.count) {
    reading.forwardReferences.push({ construct, target, offset: start, missingAt });
    return { source: '', kind: 'group' };
  }
  if (number < 1) throw scanner.fault('reference to non-existent subpattern', missingAt);
  if (!groups.isAlwaysSet(number)) throw unsetReference(construct, start);
  if (flags.caseless) throw noEquivalent(construct, start, 'a case-insensitive back-reference');
  if (reading.lookbehinds > 0) throw noEquivalent(construct, start, 'a back-reference inside a look-behind');
  return { source: `(?:\\${number})`, kind: 'group' };
}

/** Blames the first reference whose group came too late, or never. */
export function checkForwardReferences({ scanner, groups, forwardReferences }: Reading): void {
  const [first] = forwardReferences;
  if (!first) return;
  const { construct, target, offset, missingAt } = first;
  const exists = typeof target === 'number' ? target <= groups.count : groups.has(target);
  throw exists
    ? unsetReference(construct, offset)
    : scanner.fault('reference to non-existent subpattern', missingAt);
}

const unsetReference = (construct: string, offset: number): Error =>
  noEquivalent(construct, offset, 'a back-reference to a group that may be unset');
