import { type KeyObject, randomBytes } from 'node:crypto';
import { Integer, OctetString } from 'asn1js';
import { Certificate, Extension, Time } from 'pkijs';
import { encodeAlternatives, type SubjectName, subjectOf } from './names.ts';
import { publicKeyInfo, signatureAlgorithm, signatureOf } from './signature.ts';

/** A certificate that its own key signs. */
export interface SelfSigned {
  readonly names: readonly SubjectName[];
  readonly commonName: string;
  /** The private key. */
  readonly key: KeyObject;
  readonly fromMs: number;
  readonly untilMs: number;
  /** A critical extension, whose value is these bytes as an octet string. */
  readonly extension: { readonly id: string; readonly bytes: Uint8Array };
}

/** The third version. */
const VERSION = 2;
const ALTERNATIVES = '2.5.29.17';

/** Encodes a self-signed certificate (RFC 5280) in DER. */
export function encodeSelfSigned(wanted: SelfSigned): Buffer {
  const { names, commonName, key, fromMs, untilMs, extension } = wanted;
  const value = new OctetString({ valueHex: extension.bytes }).toBER();
  const certificate = new Certificate({
    version: VERSION,
    serialNumber: new Integer({ valueHex: serialNumber() }),
    signature: signatureAlgorithm(key),
    issuer: subjectOf(commonName),
    subject: subjectOf(commonName),
    notBefore: new Time({ value: new Date(fromMs) }),
    notAfter: new Time({ value: new Date(untilMs) }),
    subjectPublicKeyInfo: publicKeyInfo(key),
    extensions: [
      new Extension({ extnID: ALTERNATIVES, extnValue: encodeAlternatives(names) }),
      new Extension({ extnID: extension.id, critical: true, extnValue: value }),
    ],
  });
  certificate.signatureAlgorithm = signatureAlgorithm(key);
  certificate.signatureValue = signatureOf(certificate.encodeTBS().toBER(), key);
  return Buffer.from(certificate.toSchema(true).toBER());
}

/** A random positive number in the shortest form: its first byte is between 0x40 and 0x7f. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] as number) & 0x3f) | 0x40;
  return bytes;
}
