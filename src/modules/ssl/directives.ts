import { resolve } from 'node:path';
import type { Word } from '../../../grammar/index.ts';
import {
  type ArgReader,
  certificateCache,
  type Context,
  directivesFor,
  pathFrom,
  privateFile,
  readers,
  type ReadScope,
  type Rows,
  shares,
} from '../../config/index.ts';
import { namedFile } from '../../http/index.ts';
import type { FileName, OcspCache, SessionCache, SslConfig, TlsVersion } from '../../contract/index.ts';

const { flag, integer, oneOf, size, text, time } = readers;
const HS: readonly Context[] = ['http', 'server'];

const ONLY_TUNES = 'it tunes how nginx sends and keeps things';

const LIST: readonly (readonly [name: string, args: ArgReader<unknown>, why: string])[] = [
  ['ssl_early_data', flag, 'early data is not taken, which is the safe choice'],
  ['ssl_buffer_size', size, ONLY_TUNES],
  ['ssl_certificate_compression', flag, ONLY_TUNES],
];

/** The directives that are accepted for compatibility. */
const ACCEPTED: Rows<SslConfig> = Object.fromEntries(
  LIST.map(([name, args, why]) => [
    name,
    {
      contexts: HS,
      args,
      accepted: why,
      summary: `Accepted, without effect: ${why}.`,
      source: `nginx ngx_http_ssl_module#${name}`,
    },
  ]),
);

/** Size of a session in nginx's shared cache: 4000 of them take a megabyte. */
const SESSION_BYTES = 262;
const BUILT_IN_SESSIONS = 20_480;
/** nginx: the minimum of eight pages. */
const SMALLEST_CACHE_BYTES = 8 * 4096;

const VERSIONS: readonly TlsVersion[] = ['SSLv2', 'SSLv3', 'TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];

/** Reads the name of a file, relative to the configuration. */
const file: ArgReader<FileName> = readers.oneWord('file', (word, scope) => readFile(word, scope));

/**
 * Reads the name of a certificate or key file, with or without OpenSSL's `store:file:`. It may contain variables; behind
 * `data:` their value is the content. Other engines and stores are not supported.
 */
const secretFile: ArgReader<FileName> = readers.oneWord('file', (word, scope) => {
  const value = word.value.replace(/^store:file:(\/\/)?/, '');
  const [scheme] = /^(?:engine|data|store):/.exec(value) ?? [];
  const named = namedFile(scope.complexValue({ ...word, value }), scope.confDir);
  if (scheme === undefined || (scheme === 'data:' && named)) {
    const name = readFile({ ...word, value }, scope);
    return named ? { ...name, named } : name;
  }
  scope.report.emerg(`"${scheme}" is not supported by "${scope.directive}"`, word.span, 'name a PEM file');
  return undefined;
});

function readFile({ value }: Word, { confDir }: ReadScope): FileName {
  return { text: value, path: resolve(confDir, value) };
}

/** Reads `ssl_protocols`. */
const protocols: ArgReader<readonly TlsVersion[]> = readers.words(
  { syntax: '[SSLv2] [SSLv3] [TLSv1] [TLSv1.1] [TLSv1.2] [TLSv1.3]', min: 1, max: Infinity },
  (words, { report }) => {
    const versions: TlsVersion[] = [];
    for (const word of words) {
      const { value, span } = word;
      const version = VERSIONS.find((name) => name.toLowerCase() === value.toLowerCase());
      if (!version) {
        report.emerg(`invalid value "${value}"`, span, readers.expectedNames(word, VERSIONS));
        return undefined;
      }
      if (versions.includes(version))
        report.warn(`duplicate value "${value}"`, span, { rule: 'duplicate-directive' });
      versions.push(version);
    }
    return versions;
  },
);

/** Reads `ssl_session_cache`; of several caches the shared one is used. */
const sessionCache: ArgReader<SessionCache> = readers.words(
  { syntax: 'off | none | [builtin[:size]] [shared:name:size]', min: 1, max: 2 },
  (words, scope) => {
    const caches = words.map((word) => readCache(word, scope));
    return caches.includes(undefined) ? undefined : caches.at(-1);
  },
);

function readCache(word: Word, scope: ReadScope): SessionCache | undefined {
  const { value, span } = word;
  if (value === 'off' || value === 'none') return value;
  const [, builtInSize] = /^builtin(?::(\d+))?$/.exec(value) ?? [];
  if (value.startsWith('builtin') && (value === 'builtin' || builtInSize !== undefined)) {
    return { name: '', sessions: Number(builtInSize ?? BUILT_IN_SESSIONS) };
  }
  const [, name, size] = /^shared:([^:]+):([^:]+)$/.exec(value) ?? [];
  const bytes = size === undefined ? undefined : readers.size.read([{ ...word, value: size }], scope);
  if (name === undefined || bytes === undefined) {
    scope.report.emerg(`invalid session cache "${value}"`, span);
    return undefined;
  }
  if (bytes < SMALLEST_CACHE_BYTES) {
    scope.report.emerg(`session cache "${value}" is too small`, span);
    return undefined;
  }
  return { name, sessions: Math.floor(bytes / SESSION_BYTES) };
}

/** Reads the URL of an OCSP responder. */
const responder: ArgReader<string> = readers.oneWord('URL', (word, { report, directive }) => {
  if (/^http:\/\/[^/\s]/i.test(word.value) && URL.canParse(word.value)) return word.value;
  const hint = 'expected a URL that begins with "http://"';
  report.emerg(`invalid URL prefix in OCSP responder "${word.value}" in "${directive}"`, word.span, hint);
  return undefined;
});

/** Size of a status in nginx's shared cache. */
const STATUS_BYTES = 128;

/** Reads `ssl_ocsp_cache`. */
const ocspCache: ArgReader<OcspCache> = readers.oneWord('off | shared:name:size', (word, scope) => {
  if (word.value === 'off') return { name: '', entries: 0 };
  const [, name, size] = /^shared:([^:]+):([^:]+)$/.exec(word.value) ?? [];
  const bytes = size === undefined ? undefined : readers.size.read([{ ...word, value: size }], scope);
  if (name !== undefined && bytes !== undefined && bytes >= SMALLEST_CACHE_BYTES)
    return { name, entries: Math.floor(bytes / STATUS_BYTES) };
  const fault = name === undefined || bytes === undefined ? 'invalid OCSP cache' : 'OCSP cache is too small:';
  scope.report.emerg(`${fault} "${word.value}"`, word.span);
  return undefined;
});

/** Reads `ssl_conf_command name value`. */
const command: ArgReader<readonly [string, string, FileName]> = readers.words(
  { syntax: 'name value', min: 2, max: 2 },
  ([name, value], scope) => [(name as Word).value, (value as Word).value, readFile(value as Word, scope)],
);

const source = (name: string): string => `nginx ngx_http_ssl_module#${name}`;

/** nginx's TLS directives for servers. The node engine serves every TLS port. */
export const directives = directivesFor<SslConfig>()({
  ssl: {
    contexts: HS,
    args: flag,
    into: 'enabled',
    default: false,
    summary: 'Obsolete: enables TLS on every `listen` of the server; use `listen ... ssl` instead.',
    source: source('ssl'),
  },
  ssl_certificate: {
    contexts: HS,
    args: secretFile,
    into: 'certificates',
    repeat: 'append',
    summary:
      'PEM file with the certificate and its chain; several for different types of keys (RSA, ECDSA). With variables in its name, or in that of the key, it is read in each handshake.',
    roles: pathFrom('confDir'),
    source: source('ssl_certificate'),
  },
  ssl_certificate_key: {
    contexts: HS,
    args: secretFile,
    into: 'keys',
    repeat: 'append',
    summary: 'PEM file with the key of the corresponding certificate.',
    roles: privateFile('secrets'),
    source: source('ssl_certificate_key'),
  },
  ssl_certificate_cache: {
    contexts: HS,
    args: certificateCache,
    into: 'certificateCache',
    default: 'off',
    summary:
      'Keeps certificates and keys whose names contain variables as they were read, for `valid` (60s); those that are not used for `inactive` (10s) are dropped. Encrypted keys are read each time. Each worker has its own cache.',
    source: source('ssl_certificate_cache'),
  },
  ssl_stapling: {
    contexts: HS,
    args: flag,
    into: 'stapling',
    default: false,
    summary:
      'Whether OCSP responses about the certificate are sent to clients that ask for one. Each worker asks the responder when the first client does, and again within the hour.',
    source: source('ssl_stapling'),
  },
  ssl_stapling_verify: {
    contexts: HS,
    args: flag,
    into: 'staplingVerify',
    default: false,
    summary:
      'Accepted: a response is sent only if the issuer, a responder that it has authorized, or a certificate of ssl_trusted_certificate has signed it.',
    source: source('ssl_stapling_verify'),
  },
  ssl_stapling_responder: {
    contexts: HS,
    args: { ...text, syntax: 'URL' },
    into: 'staplingResponder',
    defaultText: 'the one that the certificate names',
    summary: 'URL of the OCSP responder: http only.',
    source: source('ssl_stapling_responder'),
  },
  ssl_stapling_file: {
    contexts: HS,
    args: file,
    into: 'staplingFile',
    summary: 'File with an OCSP response (DER), which is sent to clients that ask for one.',
    roles: pathFrom('confDir'),
    source: source('ssl_stapling_file'),
  },
  ssl_password_file: {
    contexts: HS,
    args: file,
    into: 'passwordFile',
    summary: 'File with the passphrases of encrypted keys, one per line, tried in turn.',
    roles: privateFile('secrets'),
    source: source('ssl_password_file'),
  },
  ssl_protocols: {
    contexts: HS,
    args: protocols,
    into: 'protocols',
    default: ['TLSv1.2', 'TLSv1.3'],
    defaultText: 'TLSv1.2 TLSv1.3',
    summary: 'The TLS versions that are allowed.',
    source: source('ssl_protocols'),
  },
  ssl_ciphers: {
    contexts: HS,
    args: text,
    into: 'ciphers',
    default: 'HIGH:!aNULL:!MD5',
    summary: 'The ciphers up to TLS 1.2, as an OpenSSL cipher list.',
    source: source('ssl_ciphers'),
  },
  ssl_prefer_server_ciphers: {
    contexts: HS,
    args: flag,
    into: 'preferServerCiphers',
    default: false,
    summary: "Whether the server's order of ciphers is preferred to the client's.",
    source: source('ssl_prefer_server_ciphers'),
  },
  ssl_ecdh_curve: {
    contexts: HS,
    args: text,
    into: 'curves',
    default: 'auto',
    summary: 'The curves for the key exchange, separated by colons.',
    source: source('ssl_ecdh_curve'),
  },
  ssl_dhparam: {
    contexts: HS,
    args: file,
    into: 'dhParam',
    summary: 'PEM file with the parameters of DHE ciphers; without it they are not available.',
    roles: pathFrom('confDir'),
    source: source('ssl_dhparam'),
  },
  ssl_conf_command: {
    contexts: HS,
    args: command,
    into: 'commands',
    repeat: 'append',
    summary:
      'OpenSSL settings by name: Certificate, PrivateKey, CipherString, Ciphersuites, Curves, Groups, MinProtocol, MaxProtocol, Options, SignatureAlgorithms.',
    // Spelled as in `Options KTLS`, in any case.
    ignores: { ktls: 'records are encrypted by OpenSSL itself, not by the kernel' },
    source: source('ssl_conf_command'),
  },
  ssl_session_cache: {
    contexts: HS,
    args: sessionCache,
    into: 'sessionCache',
    default: 'none',
    summary:
      'Where sessions of TLS 1.2 clients without tickets are kept (TLS 1.3 uses tickets only). Each worker has its own cache; servers that name the same shared cache share it.',
    roles: shares('session cache', { word: 'any', behind: ['shared:'], until: ':' }),
    source: source('ssl_session_cache'),
  },
  ssl_session_timeout: {
    contexts: HS,
    args: time,
    into: 'sessionTimeoutMs',
    default: 300_000,
    defaultText: '5m',
    summary: 'How long a client may resume its session.',
    source: source('ssl_session_timeout'),
  },
  ssl_session_tickets: {
    contexts: HS,
    args: flag,
    into: 'sessionTickets',
    default: true,
    summary: 'Whether clients get tickets for resuming their sessions.',
    source: source('ssl_session_tickets'),
  },
  ssl_session_ticket_key: {
    contexts: HS,
    args: file,
    into: 'ticketKeys',
    repeat: 'append',
    summary:
      'File of 48 or 80 random bytes for encrypting tickets; of several the first is used. Without it the workers share a random key; with a shared session cache it changes with each ssl_session_timeout.',
    roles: privateFile('secrets'),
    source: source('ssl_session_ticket_key'),
  },
  ssl_client_certificate: {
    contexts: HS,
    args: file,
    into: 'clientCertificate',
    summary: 'PEM file with the CA certificates that client certificates are verified with.',
    roles: pathFrom('confDir'),
    source: source('ssl_client_certificate'),
  },
  ssl_trusted_certificate: {
    contexts: HS,
    args: file,
    into: 'trustedCertificate',
    summary: 'PEM file with further CA certificates that client certificates are verified with.',
    roles: pathFrom('confDir'),
    source: source('ssl_trusted_certificate'),
  },
  ssl_verify_client: {
    contexts: HS,
    args: oneOf('on', 'off', 'optional', 'optional_no_ca'),
    into: 'verifyClient',
    default: 'off',
    summary: 'Whether clients need a certificate; $ssl_client_verify shows the result of the verification.',
    source: source('ssl_verify_client'),
  },
  ssl_verify_depth: {
    contexts: HS,
    args: integer(),
    into: 'verifyDepth',
    default: 1,
    summary: 'Maximum number of intermediate certificates of a client certificate.',
    source: source('ssl_verify_depth'),
  },
  ssl_crl: {
    contexts: HS,
    args: file,
    into: 'crl',
    summary: 'PEM file with revoked client certificates.',
    roles: pathFrom('confDir'),
    source: source('ssl_crl'),
  },
  ssl_reject_handshake: {
    contexts: HS,
    args: flag,
    into: 'rejectHandshake',
    default: false,
    summary:
      'Refuses TLS handshakes in the server, for example of clients that do not send a known server name.',
    source: source('ssl_reject_handshake'),
  },
  ssl_ocsp: {
    contexts: HS,
    args: oneOf('on', 'off', 'leaf'),
    into: 'ocsp',
    default: 'off',
    summary:
      'Whether the status of client certificates is asked for by OCSP: of the whole chain, or of the leaf only. A request waits for it; where it is not good, the response is 400.',
    source: source('ssl_ocsp'),
  },
  ssl_ocsp_responder: {
    contexts: HS,
    args: responder,
    into: 'ocspResponder',
    defaultText: 'the one that the certificate names',
    summary: 'URL of the OCSP responder for client certificates: http only.',
    source: source('ssl_ocsp_responder'),
  },
  ssl_ocsp_cache: {
    contexts: HS,
    args: ocspCache,
    into: 'ocspCache',
    default: { name: '', entries: 0 },
    defaultText: 'off',
    summary:
      'Keeps the statuses of client certificates for as long as they are valid; each worker has its own cache.',
    source: source('ssl_ocsp_cache'),
  },
  ...ACCEPTED,
});
