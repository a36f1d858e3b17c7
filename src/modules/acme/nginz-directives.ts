import { resolve } from 'node:path';
import type { AcmeIssuer } from '../../acme/index.ts';
import { type ArgReader, pathFrom, readers, type Rows } from '../../config/index.ts';
import { USUAL_DNS_WAIT_MS } from './issuer-directives.ts';
import { contact, directoryUrl } from './readers.ts';

/** The directives of nginz's module: one issuer for all servers. */
export interface NginzFields {
  readonly acme?: boolean;
  readonly acmeServer?: string;
  readonly acmeStaging?: boolean;
  readonly acmeEmail?: string;
  /** Absolute. */
  readonly acmeStorage?: string;
  readonly acmeRenewBeforeMs?: number;
  /** The name of the server's certificate. */
  readonly acmeDomain?: string;
}

/** The name of that issuer. */
export const NGINZ_ISSUER = 'acme';

const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory';
const LETS_ENCRYPT_STAGING = 'https://acme-staging-v02.api.letsencrypt.org/directory';
const USUAL_STORAGE = '/etc/nginx/acme';

const DAY_MS = 86_400_000;
const readDays = readers.integer({ min: 1, max: 365 });
const days: ArgReader<number> = {
  ...readDays,
  syntax: 'days',
  read: (words, scope) => {
    const number = readDays.read(words, scope);
    return number === undefined ? undefined : number * DAY_MS;
  },
};

/** The issuer that these directives describe; `undefined`: there is none. */
export function nginzIssuer(fields: NginzFields): AcmeIssuer | undefined {
  if (fields.acme !== true) return undefined;
  const { acmeStaging, acmeEmail, acmeStorage = USUAL_STORAGE, acmeRenewBeforeMs } = fields;
  return {
    name: NGINZ_ISSUER,
    uri: fields.acmeServer ?? (acmeStaging === true ? LETS_ENCRYPT_STAGING : LETS_ENCRYPT),
    accountKey: { generate: 'rsa:2048' },
    challenge: 'http-01',
    contacts: acmeEmail === undefined ? [] : [acmeEmail],
    verifies: true,
    statePath: acmeStorage,
    // As in nginz: who switches it on agrees.
    acceptsTerms: true,
    namesInCsr: true,
    dnsWaitMs: USUAL_DNS_WAIT_MS,
    ...(acmeRenewBeforeMs !== undefined && { renewBeforeMs: acmeRenewBeforeMs }),
  };
}

const HTTP = { contexts: ['http'] } as const;

/** The rows of these directives. */
export const nginzDirectives = {
  acme: {
    ...HTTP,
    args: readers.flag,
    into: 'acme',
    defaultText: 'off',
    summary:
      'Orders the certificates of all servers with `acme_domain` from one authority, and agrees to its terms of service. New configurations have an `acme_issuer`.',
    source: 'nginz acme#acme',
  },
  acme_server: {
    ...HTTP,
    args: directoryUrl,
    into: 'acmeServer',
    defaultText: "Let's Encrypt",
    summary: 'The URL of the directory of that authority.',
    source: 'nginz acme#acme_server',
  },
  acme_staging: {
    ...HTTP,
    args: readers.flag,
    into: 'acmeStaging',
    defaultText: 'off',
    summary:
      "Orders from the staging environment of Let's Encrypt, whose certificates no browser trusts, unless `acme_server` names an authority.",
    source: 'nginz acme#acme_staging',
  },
  acme_email: {
    ...HTTP,
    args: contact,
    into: 'acmeEmail',
    summary: 'The mail address of who is responsible for the account.',
    source: 'nginz acme#acme_email',
  },
  acme_storage: {
    ...HTTP,
    args: readers.oneWord('path', ({ value }, { prefix }) => resolve(prefix, value)),
    into: 'acmeStorage',
    defaultText: USUAL_STORAGE,
    summary: 'The directory that keeps the account, certificates and keys for the next start.',
    roles: pathFrom('prefix'),
    source: 'nginz acme#acme_storage',
  },
  acme_renew_before: {
    ...HTTP,
    args: days,
    into: 'acmeRenewBeforeMs',
    defaultText: 'as the authority says',
    summary: 'How many days before its end a certificate is renewed.',
    source: 'nginz acme#acme_renew_before',
  },
  acme_domain: {
    contexts: ['server'],
    args: readers.text,
    into: 'acmeDomain',
    inherit: false,
    summary: 'The name of the certificate of this server, which gets it by `acme on`.',
    source: 'nginz acme#acme_domain',
  },
} as const satisfies Rows<NginzFields>;
