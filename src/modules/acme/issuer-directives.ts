import { resolve } from 'node:path';
import type { AcmeIssuer, ChallengeType } from '../../acme/index.ts';
import type { LoadedFile } from '../../client/index.ts';
import { defines, pathFrom, readers, type ReadScope, type Rows } from '../../config/index.ts';
import { loadedFile } from '../../forwarding/index.ts';
import * as read from './readers.ts';

/** What the directives in an `acme_issuer` block set. */
export interface IssuerFields {
  readonly directory?: string;
  readonly accountKey?: AcmeIssuer['accountKey'];
  readonly challenge?: ChallengeType;
  readonly contacts?: readonly string[];
  readonly externalAccount?: NonNullable<AcmeIssuer['externalAccount']>;
  readonly preferredChain?: string;
  readonly profile?: NonNullable<AcmeIssuer['profile']>;
  readonly trusted?: LoadedFile;
  readonly verifies?: boolean;
  /** Absolute, or `off`. */
  readonly statePath?: string;
  readonly acceptsTerms?: boolean;
  readonly namesInCsr?: boolean;
  readonly dnsHook?: readonly string[];
  readonly dnsWaitMs?: number;
}

export const USUAL_DNS_WAIT_MS = 30_000;

function entry(name: string, fields: IssuerFields, scope: ReadScope): AcmeIssuer | undefined {
  const { report, span, prefix } = scope;
  const { directory, challenge = 'http-01', dnsHook, statePath = resolve(prefix, `acme_${name}`) } = fields;
  const fault = (message: string, hint?: string): undefined => {
    report.emerg(`${message} in the "acme_issuer" block "${name}"`, span, hint);
  };
  if (directory === undefined) return fault('no "uri" is defined');
  if (challenge === 'dns-01' && !dnsHook)
    return fault('"challenge dns-01" without a "dns_hook"', 'the hook makes and removes the records');
  const { directory: _, statePath: __, ...others } = fields;
  return {
    accountKey: { generate: 'ecdsa:256' },
    contacts: [],
    verifies: true,
    acceptsTerms: false,
    namesInCsr: false,
    dnsWaitMs: USUAL_DNS_WAIT_MS,
    ...others,
    name,
    uri: directory,
    challenge,
    statePath: statePath === 'off' ? undefined : statePath,
  };
}

const NAME = /^[\w.-]{1,64}$/;

const issuerName = readers.oneWord('name', ({ value, span }, { report }) => {
  if (NAME.test(value) && !/^\.+$/.test(value)) return value;
  report.emerg(`invalid issuer name "${value}"`, span, 'expected 1 to 64 letters, digits, "_", "-" and "."');
  return undefined;
});

const ISSUER = { contexts: ['acme_issuer'], inherit: false } as const;
const SOURCE = 'nginx ngx_http_acme_module';

/** The directives of `acme_issuer` blocks. */
export const issuerDirectives = {
  acme_issuer: {
    contexts: ['http'],
    args: issuerName,
    opens: 'acme_issuer',
    entry,
    into: 'issuers',
    repeat: 'append',
    roles: defines('ACME issuer'),
    summary: 'An authority that issues certificates by ACME (RFC 8555), and an account there.',
    source: `${SOURCE}#acme_issuer`,
  },
  uri: {
    ...ISSUER,
    args: read.directoryUrl,
    into: 'directory',
    summary: 'The URL of the directory of the authority.',
    source: `${SOURCE}#uri`,
  },
  account_key: {
    ...ISSUER,
    args: read.accountKey,
    into: 'accountKey',
    defaultText: 'ecdsa:256',
    summary:
      'The key of the account: `ecdsa:256`, `ecdsa:384`, `ecdsa:521`, `rsa:2048`, `rsa:3072` or `rsa:4096`, which gw makes and keeps in `state_path`; or a file, relative to the directory of the configuration file.',
    roles: [{ kind: 'path', from: 'confDir', holds: 'secrets' }],
    source: `${SOURCE}#account_key`,
  },
  challenge: {
    ...ISSUER,
    args: read.challenge,
    into: 'challenge',
    defaultText: 'http-01',
    summary:
      'How the authority sees that a name is this gateway: by a request to port 80 (`http-01`), a handshake at port 443 (`tls-alpn-01`), a record that `dns_hook` makes for each order (`dns-01`), or one that stays (`dns-persist-01`). Wildcards need one of the last two.',
    source: `${SOURCE}#challenge`,
  },
  contact: {
    ...ISSUER,
    args: read.contact,
    into: 'contacts',
    repeat: 'append',
    summary: 'Where the authority reaches who is responsible for the account: a mail address, or a URL.',
    source: `${SOURCE}#contact`,
  },
  external_account_key: {
    ...ISSUER,
    args: read.externalAccount,
    into: 'externalAccount',
    secret: 'value',
    roles: [{ kind: 'path', from: 'confDir', word: 1, holds: 'secrets' }],
    summary:
      'Binds the account to one that the authority knows already: its id, and a file with the key in base64url, or `data:` and that key.',
    source: `${SOURCE}#external_account_key`,
  },
  preferred_chain: {
    ...ISSUER,
    args: readers.text,
    into: 'preferredChain',
    summary:
      'Where the authority offers several chains, the one that ends with this issuer is taken. Without such a chain, the first one.',
    source: `${SOURCE}#preferred_chain`,
  },
  profile: {
    ...ISSUER,
    args: read.profile,
    into: 'profile',
    summary:
      'The profile of the certificates, such as `shortlived`. An authority without it decides itself; with `require`, nothing is ordered there.',
    source: `${SOURCE}#profile`,
  },
  ssl_trusted_certificate: {
    ...ISSUER,
    args: loadedFile('certificate'),
    into: 'trusted',
    defaultText: 'the authorities that Node.js knows',
    summary:
      "PEM file with the CA certificates that the certificate of the authority's server is verified with.",
    roles: pathFrom('confDir'),
    source: `${SOURCE}#ssl_trusted_certificate`,
  },
  ssl_verify: {
    ...ISSUER,
    args: readers.flag,
    into: 'verifies',
    defaultText: 'on',
    summary: "Whether the certificate of the authority's server is verified.",
    source: `${SOURCE}#ssl_verify`,
  },
  state_path: {
    ...ISSUER,
    args: read.statePath,
    into: 'statePath',
    defaultText: 'acme_name below the prefix',
    summary:
      'The directory, relative to the prefix, that keeps the account, certificates and keys for the next start. With `off` each start orders all certificates again, which authorities limit.',
    roles: pathFrom('prefix'),
    source: `${SOURCE}#state_path`,
  },
  accept_terms_of_service: {
    ...ISSUER,
    args: readers.present,
    into: 'acceptsTerms',
    summary:
      'Agrees to the terms of service of the authority. One that has terms creates no account without it; the error log then says where they are.',
    source: `${SOURCE}#accept_terms_of_service`,
  },
  common_name_in_csr: {
    ...ISSUER,
    args: readers.flag,
    into: 'namesInCsr',
    defaultText: 'off',
    summary: 'Whether requests for certificates have the first name as their common name, too.',
    source: `${SOURCE}#common_name_in_csr`,
  },
  dns_hook: {
    ...ISSUER,
    args: read.hook,
    into: 'dnsHook',
    summary:
      'The program that makes the records of `challenge dns-01`. It gets `present` or `cleanup`, the name of the record and its value as further arguments, runs without a shell as the account that serves, and has 60 seconds.',
    roles: pathFrom('confDir'),
    source: 'gw',
  },
  dns_wait: {
    ...ISSUER,
    args: readers.time,
    into: 'dnsWaitMs',
    defaultText: '30s',
    summary: 'How long gw waits after the hook, until all servers of the zone have the record.',
    source: 'gw',
  },
} as const satisfies Rows<IssuerFields & { readonly issuers?: readonly AcmeIssuer[] }>;
