import { fixed, type Atom, type Reading } from './atom.ts';
import { noEquivalent } from './fault.ts';
import { withLetters, type Flags } from './flags.ts';
import { backReference } from './reference.ts';

const LOOKAROUNDS = ['=', '!', '<=', '<!'] as const;

/** Constructs that JavaScript cannot express, by what follows `(?`; calls and conditions are blamed as a whole. */
const WITHOUT_EQUIVALENT = /[|>*]|<\*/y;
const CALLS = /R|&|P>|C|\(|[+-]?\d/y;

/** What a parenthesis opens; the scanner stands behind it. */
export function readGroup(reading: Reading): Atom {
  const { scanner, flags } = reading;
  const start = scanner.at - 1;
  if (scanner.take(/\*(?=[A-Za-z:])/y)) throw scanner.noEquivalentGroup(start);
  if (!scanner.eat('?')) return flags.noCapture ? plain(reading, flags) : capture(reading);
  if (scanner.eat(':')) return plain(reading, flags);
  for (const opening of LOOKAROUNDS) if (scanner.eat(opening)) return lookaround(reading, opening);
  const construct = scanner.take(WITHOUT_EQUIVALENT);
  if (construct) throw noEquivalent(`(?${construct[0]}`, start);
  if (scanner.take(CALLS)) throw scanner.noEquivalentGroup(start);
  if (scanner.eat('<') || scanner.eat('P<')) return capture(reading, '>');
  if (scanner.eat("'")) return capture(reading, "'");
  if (scanner.eat('P=')) return namedReference(reading, start);
  if (scanner.eat('P')) throw unrecognized(reading, '(?P');
  return flagGroup(reading, start);
}

function body(reading: Reading, flags = reading.flags): string {
  const { scanner } = reading;
  const outer = reading.flags;
  reading.flags = flags;
  const inner = reading.alternatives();
  reading.flags = outer;
  if (!scanner.eat(')')) throw scanner.fault('missing closing parenthesis', scanner.pattern.length);
  return inner;
}

function plain(reading: Reading, flags: Flags): Atom {
  return { source: `(?:${body(reading, flags)})`, kind: 'group' };
}

function capture(reading: Reading, terminator?: string): Atom {
  const { scanner, groups } = reading;
  const name = terminator === undefined ? undefined : scanner.name(terminator);
  if (name !== undefined && groups.has(name)) {
    throw scanner.fault('two named subpatterns have the same name (PCRE2_DUPNAMES not set)');
  }
  const number = groups.open(name);
  const source = body(reading);
  groups.close(number);
  return { source: name === undefined ? `(${source})` : `(?<${name}>${source})`, kind: 'group' };
}

function lookaround(reading: Reading, opening: (typeof LOOKAROUNDS)[number]): Atom {
  const { groups } = reading;
  const isBehind = opening.startsWith('<');
  const before = groups.count;
  reading.lookarounds += 1;
  if (isBehind) reading.lookbehinds += 1;
  const source = body(reading);
  reading.lookarounds -= 1;
  if (isBehind) reading.lookbehinds -= 1;
  if (opening.endsWith('!')) groups.mayBeUnsetAbove(before);
  return { source: `(?${opening}${source})`, kind: 'lookaround' };
}

/** `(?P=name)`. */
function namedReference(reading: Reading, start: number): Atom {
  const missingAt = reading.scanner.at;
  const target = reading.scanner.name(')');
  return backReference(reading, { target, start, missingAt });
}

/** `(?i)` for the rest of the enclosing group, `(?i:…)` for its own. */
function flagGroup(reading: Reading, start: number): Atom {
  const { scanner } = reading;
  const [letters] = scanner.take(/\^?[imnsxUJ]*(?:-[imnsxUJ]*)?/y) as RegExpExecArray;
  if (/^\^.*-/.test(letters)) {
    throw scanner.fault('invalid hyphen in option setting', start + 2 + letters.indexOf('-'));
  }
  if (letters.includes('J')) throw noEquivalent('(?J)', start);
  const flags = withLetters(reading.flags, letters);
  if (scanner.eat(':')) return plain(reading, flags);
  if (!scanner.eat(')')) throw unrecognized(reading, '(? or (?-');
  reading.flags = flags;
  return fixed('');
}

function unrecognized({ scanner }: Reading, opening: string): Error {
  return scanner.fault(
    scanner.done ? 'missing closing parenthesis' : `unrecognized character after ${opening}`,
  );
}
