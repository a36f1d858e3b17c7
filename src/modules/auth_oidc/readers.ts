import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, readers, type ReadScope } from '../../config/index.ts';
import { issuerUrlFault } from '../../issuer/index.ts';

/** Reads a URL of a provider. */
export const providerUrl = readers.oneWord('URL', (word, { directive, report }) => {
  const isPlain = /^[!-~]+$/.test(word.value);
  const fault = isPlain ? issuerUrlFault(word.value) : 'expected a URL without blanks, in ASCII';
  if (fault === undefined) return word.value;
  report.emerg(`invalid URL "${word.value}" in "${directive}" directive`, word.span, fault);
  return undefined;
});

/** Characters of a path that neither end it nor are encoded. */
const PATH = /^\/(?!\/)[\w\-.~!$&'()*+,;=:@/]*$/;

/** Reads a path that gw serves itself. */
export const path = readers.oneWord('/uri', readPath);

function readPath({ value, span }: Word, { directive, report }: ReadScope): string | undefined {
  if (PATH.test(value)) return value;
  report.emerg(`invalid URI "${value}" in "${directive}" directive`, span, 'expected a path such as /logout');
  return undefined;
}

/** Reads a path of this site, or a URL. */
export const pathOrUrl = readers.oneWord('/uri | URL', (word, scope) =>
  word.value.startsWith('/') ? readPath(word, scope) : providerUrl.read([word], scope),
);

/** Reads the scopes of a login. */
export const scopes: ArgReader<readonly string[]> = readers.words(
  { syntax: 'string ...', min: 1, max: Infinity },
  (list, { report }) => {
    // RFC 6749, 3.3.
    const wrong = list.find(({ value }) => !/^[!#-[\]-~]+$/.test(value));
    if (wrong) report.emerg(`invalid scope "${wrong.value}"`, wrong.span);
    return wrong ? undefined : list.map(({ value }) => value);
  },
);

/** Reads a text that has at least one character. */
export const notEmpty = readers.oneWord('string', ({ value, span }, { directive, report }) => {
  if (value !== '') return value;
  report.emerg(`empty value in "${directive}" directive`, span);
  return undefined;
});

/** Reads the name of a session cookie. */
export const cookieName = readers.oneWord('name', ({ value, span }, { report }) => {
  // Names of login cookies begin with it.
  if (/^[\w!#$%&'*+^`|~-]{1,64}$/.test(value)) return value;
  report.emerg(`invalid cookie name "${value}"`, span);
  return undefined;
});
