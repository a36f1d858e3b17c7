import { type TlsConfig, tlsSettings } from '../../client/index.ts';
import { directivesFor, pathFrom, privateFile, readers } from '../../config/index.ts';
import type { ConfigReport } from '../../contract/index.ts';
import {
  certificateFault,
  confCommand,
  loadedFile,
  tlsVersions,
  validateTlsFiles,
} from '../../forwarding/index.ts';
import { type Endpoint, endpointsOf, type EndpointTls, type RedisAddress } from '../../redis/index.ts';

/** `kv_ssl_*`: how a store is reached whose address begins with `rediss://`. */
export interface KvTlsConfig extends Pick<
  TlsConfig,
  | 'sslVerify'
  | 'sslServerName'
  | 'sslProtocols'
  | 'sslCiphers'
  | 'sslTrustedCertificate'
  | 'sslCrl'
  | 'sslCertificate'
  | 'sslCertificateKey'
  | 'sslPasswordFile'
  | 'sslConfCommands'
> {
  /** Absent: any number. */
  readonly sslVerifyDepth?: number;
  /** Absent: the host of the address. */
  readonly sslName?: string;
}

const LEVELS = { contexts: ['http', 'server', 'location'], source: 'gw' } as const;

/** The directives about TLS. */
export const tlsDirectives = directivesFor<KvTlsConfig>()({
  kv_ssl_verify: {
    ...LEVELS,
    args: readers.flag,
    into: 'sslVerify',
    default: true,
    defaultText: 'on',
    summary: 'Whether the certificate of a store that is reached over TLS (`rediss://`) is verified.',
  },
  kv_ssl_trusted_certificate: {
    ...LEVELS,
    args: loadedFile('certificate'),
    into: 'sslTrustedCertificate',
    defaultText: 'the authorities that Node.js knows',
    summary: "PEM file with the CA certificates that the store's certificate is verified with.",
    roles: pathFrom('confDir'),
  },
  kv_ssl_verify_depth: {
    ...LEVELS,
    args: readers.integer(),
    into: 'sslVerifyDepth',
    defaultText: 'any number',
    summary: "How many certificates may stand between the store's own and the trusted one.",
  },
  kv_ssl_crl: {
    ...LEVELS,
    args: loadedFile('certificate revocation list'),
    into: 'sslCrl',
    summary: 'PEM file with certificate revocation lists, one for each authority of the chain.',
    roles: pathFrom('confDir'),
  },
  kv_ssl_name: {
    ...LEVELS,
    args: readers.text,
    into: 'sslName',
    defaultText: 'the host of the address',
    summary: "The name that the store's certificate must have, and that is sent in the handshake.",
  },
  kv_ssl_server_name: {
    ...LEVELS,
    args: readers.flag,
    into: 'sslServerName',
    default: true,
    defaultText: 'on',
    summary: 'Whether the name is sent in the handshake (SNI); IP addresses never are.',
  },
  kv_ssl_certificate: {
    ...LEVELS,
    args: loadedFile('certificate'),
    into: 'sslCertificate',
    summary: 'PEM file with the certificate that the gateway shows the store, and its chain.',
    roles: pathFrom('confDir'),
  },
  kv_ssl_certificate_key: {
    ...LEVELS,
    args: loadedFile('certificate key'),
    into: 'sslCertificateKey',
    summary: 'PEM file with the key of that certificate.',
    roles: privateFile('secrets'),
  },
  kv_ssl_password_file: {
    ...LEVELS,
    args: loadedFile('password file'),
    into: 'sslPasswordFile',
    summary: 'Passphrases for the key, one on each line.',
    roles: privateFile('secrets'),
  },
  kv_ssl_protocols: {
    ...LEVELS,
    args: tlsVersions,
    into: 'sslProtocols',
    default: ['TLSv1.2', 'TLSv1.3'],
    defaultText: 'TLSv1.2 TLSv1.3',
    summary: 'TLS versions that are allowed; gw uses the lowest and the highest of them as bounds.',
  },
  kv_ssl_ciphers: {
    ...LEVELS,
    args: readers.text,
    into: 'sslCiphers',
    default: 'DEFAULT',
    summary: 'Ciphers, in the format of OpenSSL.',
  },
  kv_ssl_conf_command: {
    ...LEVELS,
    args: confCommand,
    into: 'sslConfCommands',
    repeat: 'append',
    summary:
      'OpenSSL commands: Certificate, PrivateKey, MinProtocol, MaxProtocol, CipherString, Ciphersuites, Curves or Groups.',
  },
});

/** Checks the contents of the files. */
export function validateKvTls(config: KvTlsConfig, report: ConfigReport<KvTlsConfig>): void {
  const { sslTrustedCertificate: trusted, sslCertificate, sslCertificateKey } = config;
  const fault = trusted && trusted.text !== '' ? certificateFault(trusted) : undefined;
  if (fault) report.phrase('sslTrustedCertificate', fault.message, { rule: fault.rule });
  if (trusted && trusted.path !== '' && trusted.text === '')
    report.phrase('sslTrustedCertificate', `no certificate in "${trusted.path}"`);
  validateTlsFiles('kv', config, report);
  if (sslCertificateKey?.path && !sslCertificate)
    report.phrase(
      'sslCertificateKey',
      `no "kv_ssl_certificate" is defined for certificate key "${sslCertificateKey.path}"`,
    );
}

/** Returns the endpoints of a store, with the TLS settings of a location if they are reached over TLS. */
export function storeEndpoints(
  address: RedisAddress,
  config: KvTlsConfig,
  upstream: (name: string) => readonly string[] | undefined,
): readonly Endpoint[] {
  const endpoints = endpointsOf(address, upstream);
  if (!address.tls) return endpoints;
  const settings = settingsOf(config);
  return endpoints.map((endpoint) => ({ ...endpoint, ...settings }));
}

function settingsOf({ sslName, sslServerName, ...config }: KvTlsConfig): EndpointTls {
  const {
    verifyDepth: _,
    reuseSessions: __,
    ...settings
  } = tlsSettings({
    ...config,
    sslVerifyDepth: 0,
    sslSessionReuse: false,
  });
  return {
    ...settings,
    sendsName: sslServerName,
    ...(config.sslVerifyDepth !== undefined && { verifyDepth: config.sslVerifyDepth }),
    ...(sslName !== undefined && sslName !== '' && { servername: sslName }),
  };
}
