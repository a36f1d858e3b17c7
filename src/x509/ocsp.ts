import { createHash, verify, X509Certificate } from 'node:crypto';
import { Integer, Null, OctetString } from 'asn1js';
import {
  AlgorithmIdentifier,
  BasicOCSPResponse,
  Certificate,
  CertID,
  OCSPRequest,
  OCSPResponse,
  Request,
  type SingleResponse,
} from 'pkijs';

/** A certificate and the one that signed it. */
export interface Pair {
  readonly certificate: X509Certificate;
  readonly issuer: X509Certificate;
}

/** The statement of a responder about a certificate (RFC 6960, 2.2). */
export interface Statement {
  readonly status: 'good' | 'revoked' | 'unknown';
  /** Milliseconds since the epoch; `Infinity`: newer information is always available. */
  readonly endsMs: number;
}

const SHA1 = '1.3.14.3.2.26';
const OCSP_SIGNING = '1.3.6.1.5.5.7.3.9';
const STATUSES = ['good', 'revoked', 'unknown'] as const;
/** The tolerated difference between clocks (nginx: ngx_ssl_ocsp_verify). */
const SKEW_MS = 300_000;

/** The digests of signature algorithms; `null`: the algorithm has its own. */
const DIGESTS: Readonly<Record<string, string | null>> = {
  '1.2.840.113549.1.1.5': 'sha1',
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
  '1.3.101.112': null,
  '1.3.101.113': null,
};

/** Returns the request for the status of a certificate, in DER. */
export function encodeRequest(pair: Pair): Buffer {
  const request = new OCSPRequest();
  request.tbsRequest.requestList = [new Request({ reqCert: certId(pair) })];
  return Buffer.from(request.toSchema(true).toBER());
}

/** Returns a text that identifies a certificate to its responder. */
export function idOf(pair: Pair): string {
  return Buffer.from(certId(pair).toSchema().toBER()).toString('base64');
}

function certId({ certificate, issuer }: Pair): CertID {
  const [own, above] = [Certificate.fromBER(certificate.raw), Certificate.fromBER(issuer.raw)];
  const keyBits = above.subjectPublicKeyInfo.subjectPublicKey.valueBlock.valueHexView;
  return new CertID({
    hashAlgorithm: new AlgorithmIdentifier({ algorithmId: SHA1, algorithmParams: new Null() }),
    issuerNameHash: hashed(new Uint8Array(above.subject.toSchema().toBER())),
    issuerKeyHash: hashed(keyBits),
    serialNumber: new Integer({ valueHex: own.serialNumber.valueBlock.valueHexView }),
  });
}

function hashed(bytes: Uint8Array): OctetString {
  return new OctetString({ valueHex: createHash('sha1').update(bytes).digest() });
}

/**
 * Reads a response to `encodeRequest`. Throws the reason if it is malformed, not about the certificate, not signed by
 * the issuer, a responder that it authorized (RFC 6960, 4.2.2.2) or one of `trusted`, or not valid now.
 */
export function readResponse(der: Uint8Array, pair: Pair, trusted: readonly X509Certificate[]): Statement {
  const response = OCSPResponse.fromBER(der);
  const code = response.responseStatus.valueBlock.valueDec;
  if (code !== 0 || !response.responseBytes) throw new Error(`OCSP response not successful (${code})`);
  const basic = BasicOCSPResponse.fromBER(response.responseBytes.response.valueBlock.valueHexView);
  verifySignature(basic, pair, trusted);
  const id = certId(pair);
  const single = basic.tbsResponseData.responses.find(({ certID }) => certID.isEqual(id));
  if (!single) throw new Error('certificate status not found in the OCSP response');
  return statementOf(single);
}

function statementOf({ certStatus, thisUpdate, nextUpdate }: SingleResponse): Statement {
  const now = Date.now();
  const endsMs = nextUpdate?.getTime() ?? Infinity;
  if (thisUpdate.getTime() > now + SKEW_MS || endsMs < now - SKEW_MS)
    throw new Error('OCSP response is not valid now');
  const { tagNumber } = (certStatus as { idBlock: { tagNumber: number } }).idBlock;
  return { status: STATUSES[tagNumber] ?? 'unknown', endsMs };
}

function verifySignature(basic: BasicOCSPResponse, pair: Pair, trusted: readonly X509Certificate[]): void {
  const { signatureAlgorithm, signature, tbsResponseData, certs = [] } = basic;
  const { algorithmId } = signatureAlgorithm;
  const digest = DIGESTS[algorithmId];
  if (digest === undefined)
    throw new Error(`OCSP response with the unknown signature algorithm ${algorithmId}`);
  const delegates = certs
    .map((certificate) => new X509Certificate(Buffer.from(certificate.toSchema(true).toBER())))
    .filter((certificate) => isAuthorized(certificate, pair.issuer));
  const signed = Buffer.from(tbsResponseData.tbsView);
  const bytes = Buffer.from(signature.valueBlock.valueHexView);
  const signers = [pair.issuer, ...delegates, ...trusted];
  if (!signers.some(({ publicKey }) => isSigned({ digest, signed, bytes }, publicKey)))
    throw new Error('OCSP response not signed by an authorized responder');
}

interface Signature {
  readonly digest: string | null;
  readonly signed: Buffer;
  readonly bytes: Buffer;
}

function isSigned({ digest, signed, bytes }: Signature, key: X509Certificate['publicKey']): boolean {
  try {
    return verify(digest, signed, key, bytes);
  } catch {
    // The key is of another type.
    return false;
  }
}

function isAuthorized(certificate: X509Certificate, issuer: X509Certificate): boolean {
  const now = Date.now();
  return (
    certificate.keyUsage?.includes(OCSP_SIGNING) === true &&
    certificate.checkIssued(issuer) &&
    certificate.verify(issuer.publicKey) &&
    Date.parse(certificate.validFrom) <= now &&
    Date.parse(certificate.validTo) >= now
  );
}
