import { resolve } from 'node:path';
import type { Word } from '../../../grammar/index.ts';
import { ACME_KEY_KINDS, type AcmeIssuer, type AcmeKeyKind, type ChallengeType } from '../../acme/index.ts';
import { type ArgReader, readers, type ReadScope } from '../../config/index.ts';
import { issuerUrlFault } from '../../issuer/index.ts';
import { openKey, readerOf, systemReason } from '../../system/index.ts';

const CHALLENGES: Readonly<Record<string, ChallengeType>> = {
  'http-01': 'http-01',
  http: 'http-01',
  'tls-alpn-01': 'tls-alpn-01',
  'tls-alpn': 'tls-alpn-01',
  'dns-01': 'dns-01',
  dns: 'dns-01',
  'dns-persist-01': 'dns-persist-01',
  'dns-persist': 'dns-persist-01',
};

/** Reads the type of a challenge; names without a version mean the newest one. */
export const challenge: ArgReader<ChallengeType> = readers.oneWord(
  'http-01 | tls-alpn-01 | dns-01 | dns-persist-01',
  ({ value, span }, { report }) => {
    const type = CHALLENGES[value];
    if (type) return type;
    report.emerg(`unsupported challenge "${value}"`, span, {
      hint: 'expected http-01, tls-alpn-01, dns-01 or dns-persist-01',
    });
    return undefined;
  },
);

/** Reads the URL of a directory. */
export const directoryUrl: ArgReader<string> = readers.oneWord('URL', ({ value, span }, scope) => {
  const fault = issuerUrlFault(value);
  if (fault === undefined) return value;
  scope.report.emerg(`invalid URL "${value}" in "${scope.directive}" directive`, span, fault);
  return undefined;
});

/** Reads an algorithm with the size of its keys, which may be left out: `ecdsa`, `rsa:4096`. */
export function readKeyKind(text: string): AcmeKeyKind | undefined {
  const whole = { ecdsa: 'ecdsa:256', rsa: 'rsa:2048' }[text] ?? text;
  return ACME_KEY_KINDS.find((kind) => kind === whole);
}

/** The first words of algorithms: a file of such a name needs a path before it. */
const ALGORITHM = /^(?:ecdsa|rsa)(?::|$)/;

/** Reads `account_key`. The file is read now, as root may. */
export const accountKey: ArgReader<AcmeIssuer['accountKey']> = readers.oneWord(
  'alg[:size] | file',
  (word, scope) => {
    const { value, span } = word;
    const generate = readKeyKind(value);
    if (generate) return { generate };
    const { report } = scope;
    if (ALGORITHM.test(value)) {
      report.emerg(`unsupported key "${value}"`, span, `expected ${ACME_KEY_KINDS.join(', ')}, or a file`);
      return undefined;
    }
    const file = readFileOf(word, scope, 'account key');
    if (!file) return undefined;
    const fault = accountKeyFault(file.text);
    if (fault === undefined) return { file: file.path, text: file.text };
    report.emerg(`cannot load account key "${file.path}": ${fault}`, span);
    return undefined;
  },
);

const CURVES: ReadonlySet<string | undefined> = new Set(['prime256v1', 'secp384r1', 'secp521r1']);

function accountKeyFault(pem: string): string | undefined {
  try {
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = openKey(pem);
    if (type === 'rsa' && (details?.modulusLength ?? 0) >= 2_048) return undefined;
    if (type === 'ec' && CURVES.has(details?.namedCurve)) return undefined;
    return 'expected RSA of 2048 bits or more, or ECDSA of P-256, P-384 or P-521';
  } catch {
    return 'it is no private key in PEM without a password';
  }
}

function readFileOf(
  { value, span }: Word,
  { confDir, report }: ReadScope,
  what: string,
): { readonly path: string; readonly text: string } | undefined {
  const path = resolve(confDir, value);
  try {
    return { path, text: readerOf(report)(path).toString() };
  } catch (error) {
    report.emerg(`cannot load ${what} "${path}": open() failed (${systemReason(error)})`, span);
    return undefined;
  }
}

/** Reads `external_account_key kid file`; `data:` is followed by the key itself. */
export const externalAccount: ArgReader<NonNullable<AcmeIssuer['externalAccount']>> = readers.words(
  { syntax: 'kid file', min: 2, max: 2 },
  ([kid, key], scope) => {
    if (!kid || !key) return undefined;
    const { report, directive } = scope;
    const text = key.value.startsWith('data:')
      ? key.value.slice('data:'.length)
      : readFileOf(key, scope, 'external account key')?.text;
    if (text === undefined) return undefined;
    const base64url = text.trim().replace(/=+$/, '');
    if (kid.value !== '' && /^[\w-]+$/.test(base64url)) return { kid: kid.value, key: base64url };
    report.emerg(`invalid base64url encoded value in "${directive}" directive`, key.span);
    return undefined;
  },
);

/** Reads a URL; `mailto:` is added to what has no scheme. */
export const contact: ArgReader<string> = readers.oneWord('URL', ({ value, span }, { report, directive }) => {
  const url = /^[a-z][a-z\d+.-]*:/i.test(value) ? value : `mailto:${value}`;
  if (/^mailto:[^\s@,?]+@[^\s@,?]+$/i.test(url) || (!/^mailto:/i.test(url) && URL.canParse(url))) return url;
  report.emerg(
    `invalid contact "${value}" in "${directive}" directive`,
    span,
    'expected an address such as admin@example.com',
  );
  return undefined;
});

/** Reads `profile name [require]`. */
export const profile: ArgReader<NonNullable<AcmeIssuer['profile']>> = readers.words(
  { syntax: 'name [require]', min: 1, max: 2 },
  ([name, more], { report }) => {
    if (!name) return undefined;
    if (!more || more.value === 'require') return { name: name.value, isRequired: more !== undefined };
    report.emerg(`invalid parameter "${more.value}"`, more.span, 'expected require');
    return undefined;
  },
);

/** Reads a directory, absolute or below the prefix; `off`: nothing is written. */
export const statePath: ArgReader<string> = readers.oneWord('path | off', ({ value }, { prefix }) =>
  value === 'off' ? 'off' : resolve(prefix, value),
);

/** Reads a command with arguments. One without a slash is searched as the shell does. */
export const hook: ArgReader<readonly string[]> = readers.words(
  { syntax: 'command [argument ...]', min: 1, max: Infinity },
  ([command, ...args], { confDir }) =>
    command && [
      command.value.includes('/') ? resolve(confDir, command.value) : command.value,
      ...args.map(({ value }) => value),
    ],
);
