import { resolve } from 'node:path';
import type { Word } from '../../../grammar/index.ts';
import type { LoadedFile, TlsConfig, TlsVersion } from '../../client/index.ts';
import {
  type ArgReader,
  certificateCache,
  directivesFor,
  pathFrom,
  readers,
  type ReadScope,
} from '../../config/index.ts';
import { namedFile } from '../../http/index.ts';
import { readerOf, systemReason } from '../../system/index.ts';

/**
 * Reads the content of a file; a relative path starts at the configuration's directory. The file is read at load time,
 * because the process that serves requests may not have the right to read it.
 */
function loadedFile(what: string, takesVariables = false): ArgReader<LoadedFile> {
  return readers.oneWord('file', (word, scope) => {
    const { report, confDir } = scope;
    // An empty name cancels an inherited one (nginx).
    if (word.value === '') return { path: '', text: '' };
    const named = takesVariables ? namedFile(scope.complexValue(word), confDir) : undefined;
    if (named) return { path: word.value, text: '', named };
    const path = resolve(confDir, word.value);
    try {
      return { path, text: readerOf(report)(path).toString() };
    } catch (error) {
      report.emerg(`cannot load ${what} "${path}": open() failed (${systemReason(error)})`, word.span);
      return undefined;
    }
  });
}

const { flag, integer, text, value } = readers;
const HSL = ['http', 'server', 'location'] as const;
const VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const;

/** nginx accepts the old names as well, but no TLS library supports these versions any more. */
const named = readers.someOf(['SSLv2', 'SSLv3', ...VERSIONS]);
const protocols: ArgReader<readonly TlsVersion[]> = {
  ...named,
  read: (words, scope) => named.read(words, scope)?.filter((name) => name !== 'SSLv2' && name !== 'SSLv3'),
};

/** The rows about TLS connections, without the prefix of their protocol. */
export const tlsRows = directivesFor<TlsConfig>()({
  ssl_verify: {
    contexts: HSL,
    args: flag,
    into: 'sslVerify',
    default: false,
    summary: "Whether the upstream's certificate is verified.",
    source: 'nginx',
  },
  ssl_verify_depth: {
    contexts: HSL,
    args: integer(),
    into: 'sslVerifyDepth',
    default: 1,
    summary: "How many certificates may stand between the upstream's own and the trusted one.",
    source: 'nginx',
  },
  ssl_trusted_certificate: {
    contexts: HSL,
    args: loadedFile('certificate'),
    into: 'sslTrustedCertificate',
    summary: "Trusted CA certificates that the upstream's certificate is verified with (PEM).",
    roles: pathFrom('confDir'),
    source: 'nginx',
  },
  ssl_crl: {
    contexts: HSL,
    args: loadedFile('certificate revocation list'),
    into: 'sslCrl',
    summary: 'Certificate revocation lists (PEM).',
    roles: pathFrom('confDir'),
    source: 'nginx',
  },
  ssl_name: {
    contexts: HSL,
    args: value,
    into: 'sslName',
    default: { parts: [] },
    defaultText: 'the host that requests are passed to',
    summary: "The name that the upstream's certificate must have, and that is sent in the handshake.",
    source: 'nginx',
  },
  ssl_server_name: {
    contexts: HSL,
    args: flag,
    into: 'sslServerName',
    default: false,
    summary: 'Whether the name is sent in the handshake (SNI).',
    source: 'nginx',
  },
  ssl_protocols: {
    contexts: HSL,
    args: protocols,
    into: 'sslProtocols',
    default: ['TLSv1.2', 'TLSv1.3'],
    defaultText: 'TLSv1.2 TLSv1.3',
    summary: 'TLS versions that are allowed; gw uses the lowest and the highest of them as bounds.',
    source: 'nginx',
  },
  ssl_ciphers: {
    contexts: HSL,
    args: text,
    into: 'sslCiphers',
    default: 'DEFAULT',
    summary: 'Ciphers, in the format of OpenSSL.',
    source: 'nginx',
  },
  ssl_session_reuse: {
    contexts: HSL,
    args: flag,
    into: 'sslSessionReuse',
    default: true,
    summary: 'Whether TLS sessions are resumed; never where the certificate is verified.',
    source: 'nginx',
  },
  ssl_certificate: {
    contexts: HSL,
    args: loadedFile('certificate', true),
    into: 'sslCertificate',
    summary:
      "The gateway's client certificate (PEM). With variables in its name it is read for each request, unless its file is the same as before.",
    roles: pathFrom('confDir'),
    source: 'nginx',
  },
  ssl_certificate_key: {
    contexts: HSL,
    args: loadedFile('certificate key', true),
    into: 'sslCertificateKey',
    summary: "The key of the gateway's client certificate (PEM).",
    roles: pathFrom('confDir'),
    source: 'nginx',
  },
  ssl_certificate_cache: {
    contexts: HSL,
    args: certificateCache,
    into: 'sslCertificateCache',
    default: 'off',
    summary:
      'Keeps certificates and keys whose names contain variables as they were read, for `valid` (60s); those that are not used for `inactive` (10s) are dropped. Encrypted keys are read each time. Each worker has its own cache.',
    source: 'nginx',
  },
  ssl_password_file: {
    contexts: HSL,
    args: loadedFile('password file'),
    into: 'sslPasswordFile',
    summary: 'Passphrases for the key, one on each line.',
    roles: pathFrom('confDir'),
    source: 'nginx',
  },
  ssl_conf_command: {
    contexts: HSL,
    args: readers.words({ syntax: 'name value', min: 2, max: 2 }, readCommand),
    into: 'sslConfCommands',
    repeat: 'append',
    summary:
      'OpenSSL commands: Certificate, PrivateKey, MinProtocol, MaxProtocol, CipherString, Ciphersuites, Curves or Groups.',
    source: 'nginx',
  },
});

const FILES: ReadonlyMap<string, ArgReader<LoadedFile>> = new Map([
  ['Certificate', loadedFile('certificate')],
  ['PrivateKey', loadedFile('certificate key')],
]);
const COMMANDS = [
  ...FILES.keys(),
  'MinProtocol',
  'MaxProtocol',
  'CipherString',
  'Ciphersuites',
  'Curves',
  'Groups',
];

function readCommand(
  words: readonly Word[],
  scope: ReadScope,
): readonly [string, string, LoadedFile?] | undefined {
  const [name, given] = words as [Word, Word];
  const known = COMMANDS.find((command) => command.toLowerCase() === name.value.toLowerCase());
  const file = FILES.get(known ?? '')?.read([given], scope);
  if (known !== undefined)
    return FILES.has(known) ? file && [known, given.value, file] : [known, given.value];
  scope.report.emerg(
    `SSL_CONF_cmd("${name.value}", "${given.value}") failed`,
    name.span,
    `expected ${COMMANDS.join(', ')}`,
  );
  return undefined;
}
