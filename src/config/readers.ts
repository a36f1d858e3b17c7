import { type FaultDetails, type Fix, type Report, spanInWord, type Word } from '../../grammar/index.ts';
import { nearest, renaming } from './nearest.ts';
import { type Network, networkText, parseNetwork } from './network.ts';
import { type RegexBounds, translatePcre } from './regex/index.ts';
import type { ArgReader, ComplexValue, ReadScope } from './row.ts';

/** A reader of exactly one word. */
export function oneWord<T>(
  syntax: string,
  read: (word: Word, scope: ReadScope) => T | undefined,
): ArgReader<T> {
  return { syntax, min: 1, max: 1, read: ([word], scope) => read(word as Word, scope) };
}

/** A reader of several words; `max` may be `Infinity`. */
export function words<T>(
  shape: { readonly syntax: string; readonly min: number; readonly max: number },
  read: (words: readonly Word[], scope: ReadScope) => T | undefined,
): ArgReader<T> {
  return { ...shape, read };
}

/** A reader without words: the presence of the directive is the value. */
export const present: ArgReader<true> = { syntax: '', min: 0, max: 0, read: () => true };

/** The value of one word. */
export const text: ArgReader<string> = oneWord('string', (word) => word.value);

/** Any number of plain words. */
export const texts: ArgReader<readonly string[]> = words(
  { syntax: 'string ...', min: 1, max: Infinity },
  (list) => list.map((word) => word.value),
);

/** A text with variables. */
export const value: ArgReader<ComplexValue> = oneWord('value', (word, scope) => scope.complexValue(word));

/** Texts with variables. */
export const values: ArgReader<readonly ComplexValue[]> = words(
  { syntax: 'string ...', min: 1, max: Infinity },
  (list, scope) => list.map((word) => scope.complexValue(word)),
);

/** The name in `$name`, in lower case, of a variable that the directive defines. Any other word is reported. */
export function readVariableName(word: Word, scope: ReadScope, how?: 'assigned'): string | undefined {
  const name = /^\$(\w+)$/.exec(word.value)?.[1]?.toLowerCase();
  if (name === undefined) scope.report.emerg(`invalid variable name "${word.value}"`, word.span);
  else scope.defineVariable(name, word.span, how);
  return name;
}

/** A reader of an integer within inclusive bounds. */
export function integer({ min = 0, max = 2 ** 31 - 1 } = {}): ArgReader<number> {
  return oneWord('number', (word, { directive, report }) => {
    if (!/^\d{1,15}$/.test(word.value)) {
      report.emerg(`"${directive}" directive invalid number`, word.span);
      return undefined;
    }
    const given = Number(word.value);
    if (given < min || given > max) {
      report.emerg(`value must be between ${min} and ${max}`, word.span);
      return undefined;
    }
    return given;
  });
}

const readFlag = oneWord<boolean>('on | off', (word, { directive, report }) => {
  const given = word.value.toLowerCase();
  if (given === 'on') return true;
  if (given === 'off') return false;
  const message = `invalid value "${word.value}" in "${directive}" directive, it must be "on" or "off"`;
  report.emerg(message, word.span, { fix: nearestValue(word, FLAGS) });
  return undefined;
});

/** Reads `on` or `off` in any case (nginx ngx_conf_set_flag_slot). */
export const flag: ArgReader<boolean> = { ...readFlag, choices: ['on', 'off'] };

/** The two values of a flag, for near names. */
const FLAGS: readonly string[] = ['on', 'off'];
const MEANT: ReadonlyMap<string, string> = new Map([
  ...['true', 'yes', '1', 'enable', 'enabled'].map((word) => [word, 'on'] as const),
  ...['false', 'no', '0', 'disable', 'disabled', 'none'].map((word) => [word, 'off'] as const),
]);

/** The fix that replaces a word by the near value, if there is one. */
function nearestValue({ value, span }: Word, names: readonly string[]): Fix | undefined {
  const meant = MEANT.get(value.toLowerCase());
  const near = meant !== undefined && names.includes(meant) ? meant : nearest(value, names);
  return near === undefined ? undefined : renaming(span, near);
}

/** A reader of one of a few names (nginx ngx_conf_set_enum_slot). */
export function oneOf<const T extends string>(...names: readonly T[]): ArgReader<T> {
  const reader = oneWord(names.join(' | '), (word, { report }) => {
    const known = names.find((name) => name === word.value);
    if (known === undefined) {
      report.emerg(`invalid value "${word.value}"`, word.span, expectedNames(word, names));
    }
    return known;
  });
  return { ...reader, choices: names };
}

/** Reads several words out of a list (nginx: ngx_conf_set_bitmask_slot). */
export function someOf<const T extends string>(names: readonly T[]): ArgReader<readonly T[]> {
  const syntax = `${names.join(' | ')} ...`;
  const reader = words({ syntax, min: 1, max: Infinity }, (list, { report }) => {
    const known = list.map((word) => {
      const name = names.find((one) => one.toLowerCase() === word.value.toLowerCase());
      if (name === undefined)
        report.emerg(`invalid value "${word.value}"`, word.span, expectedNames(word, names));
      return name;
    });
    return known.includes(undefined) ? undefined : (known as T[]);
  });
  return { ...reader, choices: names };
}

/** The details for a word that should be one of a few names: the names as hint, and the fix to a near one. */
export function expectedNames(word: Word, names: readonly string[]): FaultDetails {
  return { hint: `expected ${names.join(', ')}`, fix: nearestValue(word, names) };
}

const BYTES_PER_UNIT: Record<string, number> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** The bytes of a size such as `8k`, `1m`, `2g` or `512`; `undefined` for other texts (nginx ngx_parse_offset). */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+)([kmg]?)$/i.exec(text);
  if (!match) return undefined;
  const bytes = Number(match[1]) * (BYTES_PER_UNIT[(match[2] as string).toLowerCase()] as number);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Reads a size in bytes. */
export const size: ArgReader<number> = oneWord('size', (word, { directive, report }) => {
  const bytes = parseSize(word.value);
  if (bytes === undefined) {
    report.emerg(
      `"${directive}" directive invalid value`,
      word.span,
      'expected a size such as 512, 8k, 1m or 2g',
    );
  }
  return bytes;
});

/** Units in the order in which nginx lets them be combined, in milliseconds. */
const TIME_UNITS = [
  ['y', 31_536_000_000],
  ['M', 2_592_000_000],
  ['w', 604_800_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

/**
 * The milliseconds of a time such as `1h30m`, `1h 30m` or `500ms`; a bare number counts seconds. `undefined` for other
 * texts (nginx ngx_parse_time).
 */
export function parseTimeMs(text: string): number | undefined {
  let rest = text;
  let totalMs = 0;
  let unitsLeft = 0;
  if (rest === '') return undefined;
  while (rest !== '') {
    const match = /^(\d+)(ms|[yMwdhms]?) */.exec(rest);
    if (!match) return undefined;
    const position = match[2] === '' ? 6 : TIME_UNITS.findIndex(([name]) => name === match[2]);
    if (position < unitsLeft) return undefined;
    unitsLeft = position + 1;
    totalMs += Number(match[1]) * (TIME_UNITS[position] as readonly [string, number])[1];
    rest = rest.slice(match[0].length);
    if (match[2] === '' && rest !== '') return undefined;
  }
  return Number.isSafeInteger(totalMs) ? totalMs : undefined;
}

/** The longest timer of Node.js (24.8 days); a longer one fires after a millisecond. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Reads a time in milliseconds, limited to the longest timer. */
export const time: ArgReader<number> = oneWord('time', (word, { directive, report }) => {
  const ms = parseTimeMs(word.value);
  if (ms === undefined) {
    report.emerg(
      `"${directive}" directive invalid value`,
      word.span,
      'expected a time such as 30s, 500ms or 1h30m',
    );
  }
  return ms === undefined ? undefined : Math.min(ms, LONGEST_TIMER_MS);
});

const LOWEST = 400;
const HIGHEST = 599;

/** Reads the status of a response that refuses a request (nginx ngx_conf_set_num_slot, bounds 400 and 599). */
export const refusalStatus: ArgReader<number> = oneWord('code', (word, { directive, report }) => {
  const code = Number(word.value);
  if (!/^\d{1,15}$/.test(word.value)) report.emerg(`"${directive}" directive invalid number`, word.span);
  else if (code >= LOWEST && code <= HIGHEST) return code;
  else report.emerg(`value must be between ${LOWEST} and ${HIGHEST}`, word.span);
  return undefined;
});

/**
 * Reads media types in lower case, or `*` (nginx ngx_http_types_slot). `text/html` is always included and need not be
 * named.
 */
export const mediaTypes: ArgReader<readonly string[]> = words(
  { syntax: 'mime-type ...', min: 1, max: Infinity },
  (list, { report }) => {
    const types = ['text/html'];
    for (const word of list) {
      const type = word.value.toLowerCase();
      if (types.includes(type))
        report.warn(`duplicate MIME type "${word.value}"`, word.span, { rule: 'duplicate-directive' });
      else types.push(type);
    }
    return types;
  },
);

/** Reads a network or one address. Warns of address bits outside the mask, as nginx does. */
export const cidr: ArgReader<Network> = oneWord('address | CIDR', readCidr);

/** Reads a network or one address from a word of a directive with other forms. */
export function readCidr(word: Word, { report }: ReadScope): Network | undefined {
  const parsed = parseNetwork(word.value);
  if (!parsed) {
    report.emerg(
      `invalid parameter "${word.value}"`,
      word.span,
      'expected an address such as 10.0.0.1 or 10.0.0.0/8',
    );
    return undefined;
  }
  warnOfHostBits(word, parsed, report);
  return parsed.network;
}

/** Warns if a network was written with address bits outside its mask (nginx). */
export function warnOfHostBits(
  { value, quote, span }: Word,
  { network, written }: { readonly network: Network; readonly written: readonly number[] },
  report: Report,
): void {
  if (network.bytes.every((byte, index) => byte === written[index])) return;
  const meant = networkText(network);
  report.warn(`low address bits of ${value} are meaningless`, span, {
    rule: 'cidr-host-bits',
    fix: { title: `write ${meant}`, safe: true, edits: [{ span, text: `${quote}${meant}${quote}` }] },
  });
}

/** The smallest zone of nginx: eight pages. */
const SMALLEST_BYTES = 32_768;

/** Reads `zone=name:size` of a directive that declares shared memory; the name may be empty. */
export function readZone(
  word: Word,
  { report }: ReadScope,
): { readonly name: string; readonly sizeBytes: number } | undefined {
  const [, name = '', sizeText = ''] = /^zone=([^:]*):(.*)$/s.exec(word.value) ?? [];
  const sizeBytes = parseSize(sizeText);
  if (sizeBytes === undefined) {
    const hint = 'expected a name and a size, such as zone=one:10m';
    report.emerg(`invalid zone size "${word.value}"`, word.span, hint);
  } else if (sizeBytes < SMALLEST_BYTES) {
    report.emerg(`zone "${word.value}" is too small`, word.span, `at least ${SMALLEST_BYTES / 1024}k`);
  } else return { name, sizeBytes };
  return undefined;
}

/** A translated PCRE pattern as plain data. */
export interface ReadRegex {
  readonly pattern: string;
  readonly source: string;
  readonly names: readonly string[];
  /** Number of capture groups, named ones included. */
  readonly groups: number;
  readonly bounds: RegexBounds;
}

/** Reads the pattern in a word from index `skip` on. Its named captures become variables of the configuration. */
export function readRegex(
  word: Word,
  { skip, caseless }: { readonly skip: number; readonly caseless: boolean },
  scope: ReadScope,
): ReadRegex | undefined {
  const pattern = word.value.slice(skip);
  const translated = translatePcre(pattern, { caseless });
  if ('fault' in translated) {
    const { fault, offset } = translated;
    const rest = offset === pattern.length ? '' : ` at "${pattern.slice(offset)}"`;
    const isOurs = fault.startsWith('PCRE construct');
    const message = isOurs
      ? `${fault}, in "${pattern}"`
      : `pcre2_compile() failed: ${fault} in "${pattern}"${rest}`;
    scope.report.emerg(message, spanInWord(word, skip + offset, word.value.length), {
      rule: 'bad-regex',
    });
    return undefined;
  }
  for (const name of translated.names) scope.defineVariable(name, word.span, 'captured');
  const { source, names, groups, bounds } = translated;
  return { pattern, source, names, groups, bounds };
}
