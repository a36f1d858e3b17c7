import { directivesFor, readers } from '../../config/index.ts';
import type { Context } from '../../config/index.ts';
import type { SslConfig } from '../../contract/index.ts';
import { ACCEPTED } from './accepted.ts';
import { command, file, protocols, secretFile, sessionCache } from './readers.ts';

const { flag, integer, oneOf, text, time } = readers;
const HS: readonly Context[] = ['http', 'server'];
const source = (name: string): string => `nginx ngx_http_ssl_module#${name}`;

/** nginx's TLS for servers. All of it needs the node engine, which serves every TLS port. */
export const directives = directivesFor<SslConfig>()({
  ssl: {
    contexts: HS,
    args: flag,
    into: 'enabled',
    default: false,
    summary: 'Obsolete: makes every `listen` of the server speak TLS; say `listen ... ssl`.',
    source: source('ssl'),
  },
  ssl_certificate: {
    contexts: HS,
    args: secretFile,
    into: 'certificates',
    repeat: 'append',
    summary: 'PEM file with the certificate and its chain; several for several kinds of keys (RSA, ECDSA).',
    source: source('ssl_certificate'),
  },
  ssl_certificate_key: {
    contexts: HS,
    args: secretFile,
    into: 'keys',
    repeat: 'append',
    summary: 'PEM file with the key of the certificate that stands at the same place.',
    source: source('ssl_certificate_key'),
  },
  ssl_password_file: {
    contexts: HS,
    args: file,
    into: 'passwordFile',
    summary: 'File with the passwords of encrypted keys, one per line, tried in turn.',
    source: source('ssl_password_file'),
  },
  ssl_protocols: {
    contexts: HS,
    args: protocols,
    into: 'protocols',
    default: ['TLSv1.2', 'TLSv1.3'],
    defaultText: 'TLSv1.2 TLSv1.3',
    summary: 'The versions of TLS that are spoken.',
    source: source('ssl_protocols'),
  },
  ssl_ciphers: {
    contexts: HS,
    args: text,
    into: 'ciphers',
    default: 'HIGH:!aNULL:!MD5',
    summary: 'The ciphers up to TLS 1.2, as OpenSSL writes such a list.',
    source: source('ssl_ciphers'),
  },
  ssl_prefer_server_ciphers: {
    contexts: HS,
    args: flag,
    into: 'preferServerCiphers',
    default: false,
    summary: "Whether the server's order of ciphers counts, not the client's.",
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
    summary: 'PEM file with the parameters of DHE ciphers; without it there are none.',
    source: source('ssl_dhparam'),
  },
  ssl_conf_command: {
    contexts: HS,
    args: command,
    into: 'commands',
    repeat: 'append',
    summary:
      'OpenSSL settings by name: CipherString, Ciphersuites, Curves, Groups, MinProtocol, MaxProtocol, Options, SignatureAlgorithms.',
    source: source('ssl_conf_command'),
  },
  ssl_session_cache: {
    contexts: HS,
    args: sessionCache,
    into: 'sessionCache',
    default: 'none',
    summary:
      'Where sessions are kept for clients of TLS 1.2 without tickets (those of TLS 1.3 resume by tickets only). Each worker has its own; all servers that name a shared cache have one.',
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
    summary: 'Whether clients get tickets to resume their sessions with.',
    source: source('ssl_session_tickets'),
  },
  ssl_session_ticket_key: {
    contexts: HS,
    args: file,
    into: 'ticketKeys',
    repeat: 'append',
    summary:
      'File of 48 or 80 random bytes that tickets are encrypted with; of several the first. Without it the workers share a random key until the next reload.',
    source: source('ssl_session_ticket_key'),
  },
  ssl_client_certificate: {
    contexts: HS,
    args: file,
    into: 'clientCertificate',
    summary: 'PEM file with the authorities that client certificates are verified with.',
    source: source('ssl_client_certificate'),
  },
  ssl_trusted_certificate: {
    contexts: HS,
    args: file,
    into: 'trustedCertificate',
    summary: 'PEM file with more authorities that client certificates are verified with.',
    source: source('ssl_trusted_certificate'),
  },
  ssl_verify_client: {
    contexts: HS,
    args: oneOf('on', 'off', 'optional', 'optional_no_ca'),
    into: 'verifyClient',
    default: 'off',
    summary: 'Whether clients need a certificate; $ssl_client_verify says what came of it.',
    source: source('ssl_verify_client'),
  },
  ssl_verify_depth: {
    contexts: HS,
    args: integer(),
    into: 'verifyDepth',
    default: 1,
    summary: 'Authorities that may stand between a client certificate and the one it is verified with.',
    source: source('ssl_verify_depth'),
  },
  ssl_crl: {
    contexts: HS,
    args: file,
    into: 'crl',
    summary: 'PEM file with the client certificates that were revoked.',
    source: source('ssl_crl'),
  },
  ssl_reject_handshake: {
    contexts: HS,
    args: flag,
    into: 'rejectHandshake',
    default: false,
    summary: 'Refuses TLS handshakes in the server, for example of clients that name no server we know.',
    source: source('ssl_reject_handshake'),
  },
  ssl_ocsp: {
    contexts: HS,
    args: oneOf('on', 'off', 'leaf'),
    into: 'ocsp',
    default: 'off',
    summary: 'Accepted with a warning: client certificates are checked against ssl_crl only.',
    source: source('ssl_ocsp'),
  },
  ...ACCEPTED,
});
