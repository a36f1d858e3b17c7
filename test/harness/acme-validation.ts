import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import { connect } from 'node:tls';
import { OctetString } from 'asn1js';
import { Certificate } from 'pkijs';
import { Problem } from './acme-jws.ts';

/** What is looked at, and how. */
export interface Validation {
  readonly type: string;
  readonly identifier: { readonly type: string; readonly value: string };
  readonly isWildcard: boolean;
  readonly token: string;
  readonly keyAuthorization: string;
  readonly accountUrl: string;
  readonly network: Network;
}

/** Where an authority finds what it validates. */
export interface Network {
  /** Of 127.0.0.1, instead of 80. */
  httpPort: number;
  /** Of 127.0.0.1, instead of 443. */
  readonly tlsPort: number;
  /** TXT records by name. */
  readonly txt: Map<string, readonly string[]>;
  /** Of this authority, for dns-persist-01. */
  readonly issuerDomains: readonly string[];
}

const TIMEOUT_MS = 5_000;

/** Looks at a challenge as an authority does. Rejects with a problem if it fails. */
export async function validate(validation: Validation): Promise<void> {
  const look = VALIDATORS[validation.type];
  if (!look) throw new Problem(400, 'malformed', `unknown challenge ${validation.type}`);
  try {
    await look(validation);
  } catch (error) {
    throw error instanceof Problem ? error : new Problem(400, 'connection', (error as Error).message);
  }
}

const VALIDATORS: Readonly<Record<string, (validation: Validation) => Promise<void>>> = {
  'http-01': validateHttp,
  'tls-alpn-01': validateTls,
  'dns-01': validateDns,
  'dns-persist-01': validatePersistent,
};

async function validateHttp({ identifier, token, keyAuthorization, network }: Validation): Promise<void> {
  const host = identifier.value.includes(':') ? `[${identifier.value}]` : identifier.value;
  const asking = get({
    host: '127.0.0.1',
    port: network.httpPort,
    path: `/.well-known/acme-challenge/${token}`,
    headers: { Host: host },
    agent: false,
    timeout: TIMEOUT_MS,
  });
  asking.on('timeout', () => asking.destroy(new Error('timeout')));
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response as AsyncIterable<Buffer>) pieces.push(piece);
  const text = Buffer.concat(pieces).toString().trimEnd();
  if (response.statusCode !== 200)
    throw new Problem(403, 'unauthorized', `status ${response.statusCode} for ${host}`);
  if (text !== keyAuthorization)
    throw new Problem(403, 'unauthorized', 'the key authorization is another one');
}

const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31';

async function validateTls({ identifier, keyAuthorization, network }: Validation): Promise<void> {
  const socket = connect({
    host: '127.0.0.1',
    port: network.tlsPort,
    servername: serverName(identifier),
    ALPNProtocols: ['acme-tls/1'],
    rejectUnauthorized: false,
    timeout: TIMEOUT_MS,
  });
  socket.on('timeout', () => socket.destroy(new Error('timeout')));
  await once(socket, 'secureConnect');
  const protocol = socket.alpnProtocol;
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  if (protocol !== 'acme-tls/1')
    throw new Problem(403, 'unauthorized', `the protocol is ${String(protocol)}`);
  const { subjectAltName } = new X509Certificate(raw);
  const expected = `${identifier.type === 'dns' ? 'DNS' : 'IP Address'}:${identifier.value}`;
  if (subjectAltName?.toLowerCase() !== expected.toLowerCase())
    throw new Problem(403, 'unauthorized', `the certificate is for ${String(subjectAltName)}`);
  const extension = Certificate.fromBER(raw).extensions?.find(({ extnID }) => extnID === ACME_IDENTIFIER);
  const digest = createHash('sha256').update(keyAuthorization).digest();
  const value = extension && Buffer.from(extension.extnValue.valueBlock.valueHexView);
  const wanted = Buffer.from(new OctetString({ valueHex: digest }).toBER());
  if (extension?.critical !== true || !value?.equals(wanted))
    throw new Problem(403, 'unauthorized', 'the certificate has another key authorization');
}

/** RFC 8738, 6; tests use IPv4. */
function serverName({ type, value }: Validation['identifier']): string {
  if (type === 'dns') return value;
  if (!isIPv4(value)) throw new Problem(400, 'malformed', 'only IPv4 here');
  return `${value.split('.').reverse().join('.')}.in-addr.arpa`;
}

async function validateDns({ identifier, keyAuthorization, network }: Validation): Promise<void> {
  const found = network.txt.get(`_acme-challenge.${identifier.value}`);
  if (!found) throw new Problem(400, 'dns', `no TXT record for ${identifier.value}`);
  const digest = createHash('sha256').update(keyAuthorization).digest('base64url');
  if (!found.includes(digest)) throw new Problem(403, 'unauthorized', 'no record has the key authorization');
}

async function validatePersistent(validation: Validation): Promise<void> {
  const { identifier, isWildcard, accountUrl, network } = validation;
  const records = network.txt.get(`_validation-persist.${identifier.value}`) ?? [];
  const fits = records.some((record) => {
    const [issuer = '', ...parameters] = record.split(';').map((part) => part.trim());
    return (
      network.issuerDomains.includes(issuer) &&
      parameters.includes(`accounturi=${accountUrl}`) &&
      (!isWildcard || parameters.includes('policy=wildcard'))
    );
  });
  if (!fits) throw new Problem(403, 'unauthorized', `no record for ${identifier.value} names the account`);
}
