import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { BitString, Integer, OctetString, Utf8String } from 'asn1js';
import {
  AlgorithmIdentifier,
  type AltName,
  AttributeTypeAndValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  CertificationRequest,
  Extension,
  Extensions,
  PublicKeyInfo,
  RelativeDistinguishedNames,
  Time,
} from 'pkijs';

/** An authority that signs certificates with a key of P-256. */
export interface Signer {
  readonly name: string;
  readonly key: KeyObject;
  /** DER. */
  readonly certificate: Buffer;
}

/** A request for a certificate, as it was read. */
export interface ReadRequest {
  /** `subjectAltName`, as it came. */
  readonly names: AltName;
  /** `dns:a.example` and `ip:7f000001`, sorted. */
  readonly wanted: readonly string[];
  readonly commonName: string | undefined;
  readonly publicKey: PublicKeyInfo;
}

const ECDSA_SHA256 = '1.2.840.10045.4.3.2';
const [COMMON_NAME, ALTERNATIVES] = ['2.5.4.3', '2.5.29.17'];
const [CONSTRAINTS, AUTHORITY_KEY] = ['2.5.29.19', '2.5.29.35'];
const DAY_MS = 86_400_000;

const keyPair = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

/** Makes an authority: a root, or one below another authority; with a new key, if none is given. */
export function makeSigner(name: string, by?: Signer, key = keyPair()): Signer {
  const info = PublicKeyInfo.fromBER(createPublicKey(key).export({ type: 'spki', format: 'der' }));
  const constraints = new BasicConstraints({ cA: true }).toSchema().toBER();
  const certificate = certificateFor(info, by ?? { name, key }, {
    subject: name,
    extensions: [new Extension({ extnID: CONSTRAINTS, critical: true, extnValue: constraints })],
    fromMs: Date.now() - DAY_MS,
    untilMs: Date.now() + 3_650 * DAY_MS,
  });
  return { name, key, certificate };
}

/** What a certificate says besides what its request wants. */
export interface Terms {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Signs a certificate for the names and the key of a request. Returns DER. */
export function signRequest({ names, publicKey }: ReadRequest, by: Signer, terms: Terms): Buffer {
  const keyIdentifier = new OctetString({ valueHex: keyId(by) });
  const authority = new AuthorityKeyIdentifier({ keyIdentifier }).toSchema().toBER();
  return certificateFor(publicKey, by, {
    ...terms,
    subject: undefined,
    extensions: [
      new Extension({ extnID: ALTERNATIVES, extnValue: names.toSchema().toBER() }),
      new Extension({ extnID: AUTHORITY_KEY, extnValue: authority }),
    ],
  });
}

/** What certificates of an authority name its key by: here, the end of the key itself. */
export function keyId({ key }: Pick<Signer, 'key'>): Buffer {
  return createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(-20);
}

function certificateFor(
  publicKey: PublicKeyInfo,
  by: Pick<Signer, 'name' | 'key'>,
  content: Terms & { readonly subject: string | undefined; readonly extensions: Extension[] },
): Buffer {
  const serial = randomBytes(9);
  // A number that begins with zeros would have to be shorter.
  serial[0] = (serial[0] as number) | 1;
  // The first bit is set in half of them: the number begins with a zero byte then.
  const valueHex = (serial[0] as number) & 0x80 ? Buffer.concat([Buffer.alloc(1), serial]) : serial;
  const certificate = new Certificate({
    version: 2,
    serialNumber: new Integer({ valueHex }),
    signature: new AlgorithmIdentifier({ algorithmId: ECDSA_SHA256 }),
    issuer: nameOf(by.name),
    subject: content.subject === undefined ? new RelativeDistinguishedNames() : nameOf(content.subject),
    notBefore: new Time({ value: new Date(content.fromMs) }),
    notAfter: new Time({ value: new Date(content.untilMs) }),
    subjectPublicKeyInfo: publicKey,
    extensions: content.extensions,
  });
  certificate.signatureAlgorithm = new AlgorithmIdentifier({ algorithmId: ECDSA_SHA256 });
  const signed = Buffer.from(certificate.encodeTBS().toBER());
  certificate.signatureValue = new BitString({ valueHex: sign('sha256', signed, by.key) });
  return Buffer.from(certificate.toSchema(true).toBER());
}

function nameOf(name: string): RelativeDistinguishedNames {
  const value = new Utf8String({ value: name });
  return new RelativeDistinguishedNames({
    typesAndValues: [new AttributeTypeAndValue({ type: COMMON_NAME, value })],
  });
}

const DIGESTS: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.1.11': 'sha256',
  [ECDSA_SHA256]: 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
};
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';

/** Reads a request in DER, and verifies its signature. Throws a reason if it is not well-formed. */
export function readRequest(der: Buffer): ReadRequest {
  const request = CertificationRequest.fromBER(der);
  const { subjectPublicKeyInfo: publicKey, signatureAlgorithm, signatureValue, attributes = [] } = request;
  const key = createPublicKey({
    key: Buffer.from(publicKey.toSchema().toBER()),
    type: 'spki',
    format: 'der',
  });
  const digest = DIGESTS[signatureAlgorithm.algorithmId];
  const signature = Buffer.from(signatureValue.valueBlock.valueHexView);
  if (digest === undefined || !verify(digest, Buffer.from(request.tbsView), key, signature))
    throw new Error('the signature of the request is wrong');
  const asked = attributes.find(({ type }) => type === EXTENSION_REQUEST)?.values[0] as unknown;
  const { extensions } = new Extensions({ schema: asked });
  const names = extensions.find(({ extnID }) => extnID === ALTERNATIVES)?.parsedValue as AltName;
  const common = request.subject.typesAndValues.find(({ type }) => type === COMMON_NAME);
  return { names, wanted: wantedIn(names), commonName: common?.value.valueBlock.value, publicKey };
}

function wantedIn({ altNames }: AltName): string[] {
  const texts = altNames.map(({ type, value }) =>
    type === 2
      ? `dns:${value}`
      : `ip:${Buffer.from((value as OctetString).valueBlock.valueHexView).toString('hex')}`,
  );
  return texts.sort();
}

/** Writes certificates in PEM, one after the other. */
export function pemOf(...certificates: readonly Buffer[]): string {
  return certificates
    .map((der) => {
      const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
      return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
    })
    .join('\n');
}
