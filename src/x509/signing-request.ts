import type { KeyObject } from 'node:crypto';
import { Attribute, CertificationRequest, Extension, Extensions } from 'pkijs';
import { encodeAlternatives, type SubjectName, subjectOf } from './names.ts';
import { publicKeyInfo, signatureAlgorithm, signatureOf } from './signature.ts';

/** What a request for a certificate asks for. */
export interface SigningRequest {
  readonly names: readonly SubjectName[];
  /** Absent: the subject is empty. */
  readonly commonName?: string | undefined;
  /** The private key. */
  readonly key: KeyObject;
}

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
const ALTERNATIVES = '2.5.29.17';

/** Encodes a request for a certificate (PKCS #10, RFC 2986) in DER, with the names as `subjectAltName`. */
export function encodeSigningRequest({ names, commonName, key }: SigningRequest): Buffer {
  const alternatives = new Extension({ extnID: ALTERNATIVES, extnValue: encodeAlternatives(names) });
  const extensions = new Extensions({ extensions: [alternatives] }).toSchema();
  const request = new CertificationRequest({
    subject: subjectOf(commonName),
    subjectPublicKeyInfo: publicKeyInfo(key),
    attributes: [new Attribute({ type: EXTENSION_REQUEST, values: [extensions] })],
  });
  request.signatureAlgorithm = signatureAlgorithm(key);
  request.signatureValue = signatureOf(signedPart(request), key);
  return Buffer.from(request.toSchema(true).toBER());
}

/** The first part of a request is what its signature is made of. */
function signedPart(request: CertificationRequest): ArrayBuffer {
  const [first] = request.toSchema(true).valueBlock.value;
  if (!first) throw new Error('a request without content');
  return first.toBER();
}
