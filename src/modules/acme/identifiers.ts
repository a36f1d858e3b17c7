import { isIP } from 'node:net';
import type { AcmeIdentifier } from '../../acme/index.ts';
import { canonicalAddress } from '../../config/index.ts';
import type { ServerName } from '../../contract/index.ts';

const LONGEST_NAME = 253;
/** Labels as authorities take them; some names of services begin with an underscore. */
const LABEL = /^[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d_])?$/;

/** Identifiers, or why a text is none. */
type Read = readonly AcmeIdentifier[] | { readonly fault: string };

/** Reads a name or an address; `.x` is `x` and `www.x`. */
export function readIdentifiers(text: string): Read {
  const value = text.toLowerCase();
  const address = value.replace(/^\[(.*)\]$/, '$1');
  if (isIP(address) !== 0) {
    const canonical = canonicalAddress(address);
    return canonical === undefined ? { fault: 'it has a zone' } : [{ type: 'ip', value: canonical }];
  }
  const bare = value.replace(/^\*?\./, '');
  const fault = nameFault(bare);
  if (fault !== undefined) return { fault };
  if (value.startsWith('.'))
    return [
      { type: 'dns', value: bare },
      { type: 'dns', value: `www.${bare}` },
    ];
  return [{ type: 'dns', value }];
}

/** Why a name cannot be in a certificate. */
export function nameFault(name: string): string | undefined {
  if (/[^\x21-\x7e]/.test(name)) return 'a name of other letters than a to z begins with "xn--"';
  if (name.length > LONGEST_NAME) return `a name has at most ${LONGEST_NAME} characters`;
  const bad = name.split('.').find((label) => !LABEL.test(label));
  if (bad === undefined) return undefined;
  return bad === '' ? 'a label of it is empty' : `"${bad}" is no label of a name`;
}

/** What the names of a server are as identifiers, and which of them cannot be in a certificate. */
export function identifiersOfServer(names: readonly ServerName[]): {
  readonly identifiers: readonly AcmeIdentifier[];
  readonly skipped: readonly { readonly name: string; readonly why: string }[];
} {
  const identifiers: AcmeIdentifier[] = [];
  const skipped: { name: string; why: string }[] = [];
  const add = (text: string): void => {
    const read = readIdentifiers(text);
    if ('fault' in read) skipped.push({ name: text, why: read.fault });
    else identifiers.push(...read);
  };
  for (const name of names) {
    if (name.kind === 'regex')
      skipped.push({ name: `~${name.regex.pattern}`, why: 'it is a regular expression' });
    else if (name.kind === 'trailing wildcard')
      skipped.push({ name: `${name.prefix}*`, why: 'no certificate has a wildcard at the end' });
    else if (name.kind === 'exact') {
      // The default name of a server, which no client sends.
      if (name.name !== '' && name.name !== '_') add(name.name);
    } else add(`${name.hasBare ? 'www' : '*'}${name.suffix}`);
  }
  return { identifiers, skipped };
}

/** Each identifier once, in the same order. */
export function withoutRepetitions(identifiers: readonly AcmeIdentifier[]): readonly AcmeIdentifier[] {
  return [...new Map(identifiers.map((each) => [`${each.type} ${each.value}`, each])).values()];
}

/** Leaves out names that a wildcard beside them covers: authorities refuse orders of both. */
export function withoutCovered(identifiers: readonly AcmeIdentifier[]): readonly AcmeIdentifier[] {
  const values = new Set(identifiers.map(({ value }) => value));
  return identifiers.filter(
    ({ type, value }) => type === 'ip' || value.startsWith('*.') || !values.has(value.replace(/^[^.]*/, '*')),
  );
}
