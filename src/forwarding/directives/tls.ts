import type { TlsConfig } from '../../client/index.ts';
import { certificateCache, directivesFor, pathFrom, privateFile, readers } from '../../config/index.ts';
import { confCommand, loadedFile, tlsVersions } from './tls-readers.ts';

const { flag, integer, text, value } = readers;
const HSL = ['http', 'server', 'location'] as const;

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
    args: tlsVersions,
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
    roles: privateFile('secrets'),
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
    roles: privateFile('secrets'),
    source: 'nginx',
  },
  ssl_conf_command: {
    contexts: HSL,
    args: confCommand,
    into: 'sslConfCommands',
    repeat: 'append',
    summary:
      'OpenSSL commands: Certificate, PrivateKey, MinProtocol, MaxProtocol, CipherString, Ciphersuites, Curves or Groups.',
    source: 'nginx',
  },
});
