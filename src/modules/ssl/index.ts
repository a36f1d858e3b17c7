import { randomBytes } from 'node:crypto';
import {
  type Build,
  type FileName,
  type LocationParts,
  type ModuleDefinition,
  type PairPaths,
  moduleFor,
  type SslConfig,
  TICKET_KEY,
} from '../../contract/index.ts';
import {
  type ClientCertificate,
  compileNamedFile,
  type Exchange,
  type NamedFile,
  type TlsFacts,
} from '../../http/index.ts';
import * as text from './certificate-text.ts';
import { directives } from './directives.ts';

type Variables = NonNullable<ModuleDefinition<SslConfig>['variables']>;

const ofTls = (summary: string, read: (tls: TlsFacts) => string): Variables[string] => ({
  summary,
  live: true,
  compile: () => (x) => {
    const tls = x.request.connection?.tls;
    return tls && (read(tls) || undefined);
  },
});

const ofClient = (summary: string, read: (client: ClientCertificate) => string): Variables[string] =>
  ofTls(summary, ({ client }) => (client ? read(client) : ''));

/** nginx's TLS variables (nginx ngx_http_ssl_module#variables); empty for connections without TLS. */
const variables: Variables = {
  ssl_protocol: ofTls('Version of TLS.', ({ protocol }) => protocol),
  ssl_cipher: ofTls('Cipher of the connection.', ({ cipher }) => cipher),
  ssl_ciphers: ofTls('Ciphers that the client offered.', ({ ciphers }) => ciphers),
  ssl_curve: ofTls('Curve of the key exchange.', ({ curve }) => curve),
  ssl_curves: ofTls('Curves that the client offered.', ({ curves }) => curves),
  ssl_session_id: ofTls('Id of the session in hexadecimal.', ({ sessionId }) => sessionId),
  ssl_session_reused: ofTls('`r` when the client resumed a session, else `.`.', ({ sessionReused }) =>
    sessionReused ? 'r' : '.',
  ),
  ssl_server_name: ofTls('Name that the client asked for in its handshake.', ({ serverName }) => serverName),
  ssl_alpn_protocol: ofTls('Protocol that ALPN chose.', ({ alpnProtocol }) => alpnProtocol),
  ssl_early_data: ofTls('Always empty: early data is not taken.', () => ''),
  ssl_client_cert: ofClient(
    'Certificate of the client in PEM; lines after the first are indented.',
    ({ certificate }) => text.indentedPem(certificate),
  ),
  ssl_client_raw_cert: ofClient('Certificate of the client, PEM.', ({ certificate }) =>
    certificate.toString(),
  ),
  ssl_client_escaped_cert: ofClient('Certificate of the client, PEM, percent-encoded.', ({ certificate }) =>
    encodeURIComponent(certificate.toString()),
  ),
  ssl_client_s_dn: ofClient('Subject of the certificate (RFC 2253).', ({ certificate }) =>
    text.dnText(certificate.subject),
  ),
  ssl_client_i_dn: ofClient('Issuer of the certificate (RFC 2253).', ({ certificate }) =>
    text.dnText(certificate.issuer),
  ),
  ssl_client_s_dn_legacy: ofClient('Subject of the certificate in the old form.', ({ certificate }) =>
    text.legacyDnText(certificate.subject),
  ),
  ssl_client_i_dn_legacy: ofClient('Issuer of the certificate in the old form.', ({ certificate }) =>
    text.legacyDnText(certificate.issuer),
  ),
  ssl_client_serial: ofClient(
    'Serial number of the certificate.',
    ({ certificate }) => certificate.serialNumber,
  ),
  ssl_client_fingerprint: ofClient('SHA-1 of the certificate.', ({ certificate }) =>
    certificate.fingerprint.replaceAll(':', '').toLowerCase(),
  ),
  ssl_client_verify: ofTls('`SUCCESS`, `FAILED:reason`, or `NONE` without a certificate.', ({ client }) => {
    if (!client) return 'NONE';
    return client.fault ? `FAILED:${client.fault.text}` : 'SUCCESS';
  }),
  ssl_client_v_start: ofClient(
    'Start of the validity of the certificate.',
    ({ certificate }) => certificate.validFrom,
  ),
  ssl_client_v_end: ofClient(
    'End of the validity of the certificate.',
    ({ certificate }) => certificate.validTo,
  ),
  ssl_client_v_remain: ofClient('Days until the certificate expires.', ({ certificate }) =>
    text.daysUntil(certificate.validTo),
  ),
};

/** Compiles the name of a file; if the value is one variable, or begins with `data:`, it may be `data:` and the content. */
function compileNameOrText(named: NamedFile, build: Pick<Build, 'value'>): (x: Exchange) => string {
  const { parts } = named.value;
  const [first] = parts;
  const mayBeText = parts.length === 1 || (typeof first === 'string' && first.startsWith('data:'));
  const name = compileNamedFile(named, build);
  if (!mayBeText) return name;
  const value = build.value(named.value);
  return (x) => {
    const text = value(x);
    if (text.startsWith('data:')) return text === 'data:' ? '' : text;
    return name(x);
  };
}

/** Compiles the names of certificates and keys that are read in a handshake. */
function compilePairs(
  { certificates, keys }: Required<Pick<SslConfig, 'certificates' | 'keys'>>,
  build: Pick<Build, 'value'>,
): LocationParts {
  const pathOf = ({ named, path }: FileName): ((x: Exchange) => string) =>
    named ? compileNameOrText(named, build) : () => path;
  const pairs = certificates.flatMap((certificate, index) => {
    const key = keys[index];
    return key && (certificate.named ?? key.named) ? [[pathOf(certificate), pathOf(key)] as const] : [];
  });
  if (pairs.length === 0) return {};
  const named = (x: Exchange): readonly PairPaths[] =>
    pairs.map(([certificate, key]) => ({ certificate: certificate(x), key: key(x) }));
  return { handshakes: { pairs: named } };
}

const TICKET_KEY_BYTES = 48;

/** TLS for clients (nginx ngx_http_ssl_module). The plan reads the files, and the node engine does the handshakes. */
export const ssl = moduleFor<SslConfig>()({
  name: 'ssl',
  summary: 'TLS towards clients: certificates, client certificates, sessions, OCSP.',
  directives,
  variables,
  enabled: ({ certificates }) => certificates !== undefined,

  validate({ ocsp, verifyClient }, report) {
    if (ocsp !== 'off' && verifyClient === 'optional_no_ca')
      report.on('ocsp', 'is incompatible with "ssl_verify_client optional_no_ca"');
  },

  /**
   * Prepares the secret of ticket keys: a ticket of one worker is valid in all of them, and after a reload. The keys that
   * are made of it change in `src/worker/transport/node/tls-servers.ts`.
   */
  prepare(_, master) {
    const open = (): string => randomBytes(TICKET_KEY_BYTES).toString('base64');
    master.provide(
      TICKET_KEY,
      master.share(TICKET_KEY, open, () => undefined),
    );
  },

  compile: ({ certificates = [], keys = [] }, _, build) => compilePairs({ certificates, keys }, build),
});
