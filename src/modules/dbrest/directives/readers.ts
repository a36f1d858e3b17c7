import { readers } from '../../../config/index.ts';
import type { KeySource, RolePath } from '../auth/index.ts';
import { readKeySource, readRolePath } from '../auth/index.ts';
import type { Setting } from '../config.ts';
import type { CorsOrigins } from '../cors.ts';

/** The contexts of what locations inherit. */
export const EVERYWHERE = ['http', 'server', 'location'] as const;

/** `"a, b"` or several words: names, each at most once. */
export const nameList = readers.words<readonly string[]>(
  { syntax: '"name, ..."', min: 1, max: Infinity },
  (list, { directive, report, span }) => {
    const names = list.flatMap(({ value }) => value.split(',')).flatMap((name) => name.trim() || []);
    if (names.length > 0) return [...new Set(names)];
    report.emerg(`no name in "${directive}" directive`, span);
    return undefined;
  },
);

/** `none` means "no role switch" to PostgreSQL: requests would run as the login role. */
export const role = readers.oneWord<string>('role', (word, { directive, report }) => {
  if (word.value !== '' && word.value !== 'none') return word.value;
  report.emerg(`invalid role in "${directive}" directive`, word.span, 'expected the name of a database role');
  return undefined;
});

/** What verifies tokens. */
export const keySource = readers.oneWord<KeySource>(
  'secret | JWK | JWK set',
  (word, { directive, report }) => {
    const source = readKeySource(word.value);
    if (!('fault' in source)) return source;
    report.emerg(`invalid value in "${directive}" directive, ${source.fault}`, word.span);
    return undefined;
  },
);

/** Where in its claims a token names the role. */
export const rolePath = readers.oneWord<RolePath>('name | .path', (word, { directive, report }) => {
  const path = readRolePath(word.value);
  if (!path)
    report.emerg(
      `invalid path in "${directive}" directive`,
      word.span,
      `expected a name, or a path such as ".app.roles[0]" or '.roles[?(@ == "author")]'`,
    );
  return path;
});

const NAME = String.raw`("(?:[^"\0]|"")+"|[^".\0]+)`;
const QUALIFIED = new RegExp(`^${NAME}(?:\\.${NAME})?$`);

/** `schema.function` or `function`, each as SQL writes it, but in the case that it is written in. */
export const functionName = readers.oneWord<readonly string[]>(
  '[schema.]function',
  (word, { directive, report }) => {
    const [, ...names] = QUALIFIED.exec(word.value) ?? [];
    if (names[0] !== undefined) {
      return names.filter(Boolean).map((name) => name.replace(/^"(.*)"$/s, '$1').replaceAll('""', '"'));
    }
    report.emerg(`invalid function in "${directive}" directive`, word.span, 'expected "schema.function"');
    return undefined;
  },
);

const PREFIX = 'app.settings.';

/** A name, with its prefix or without, and a value. */
export const setting = readers.words<Setting>(
  { syntax: 'name value', min: 2, max: 2 },
  ([name, value], { directive, report }) => {
    if (!name || !value) return undefined;
    const full = name.value.startsWith(PREFIX) ? name.value : `${PREFIX}${name.value}`;
    // What PostgreSQL takes for the name of a setting of one's own.
    if (/^[A-Za-z_][\w$]*(\.[A-Za-z_][\w$]*)*$/.test(full)) return { name: full, value: value.value };
    report.emerg(`invalid name "${name.value}" in "${directive}" directive`, name.span);
    return undefined;
  },
);

/** As browsers write it: no path, not even a slash. */
const ORIGIN = /^(?:[a-z][a-z0-9+.-]*:\/\/[^\s/?#]+|null)$/;

/** `*`, `off`, or origins, separated by blanks or commas. */
export const corsOrigins = readers.words<CorsOrigins>(
  { syntax: '* | off | origin ...', min: 1, max: Infinity },
  (list, { directive, report }) => {
    const origins = list.flatMap(({ value, span }) =>
      value
        .split(',')
        .flatMap((piece) => (piece.trim() ? [{ origin: piece.trim().toLowerCase(), span }] : [])),
    );
    const [first, ...others] = origins;
    if (others.length === 0 && first?.origin === '*') return '*';
    if (others.length === 0 && first?.origin === 'off') return [];
    for (const { origin, span } of origins) {
      if (ORIGIN.test(origin)) continue;
      report.emerg(`invalid origin "${origin}" in "${directive}" directive`, span, 'expected "https://host"');
      return undefined;
    }
    return origins.map(({ origin }) => origin);
  },
);
