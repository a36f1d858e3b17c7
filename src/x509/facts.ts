import type { X509Certificate } from 'node:crypto';
import { AltName, AuthorityKeyIdentifier, Certificate } from 'pkijs';
import { alternativesIn, type SubjectName } from './names.ts';

export type { SubjectName } from './names.ts';

/** What `X509Certificate` does not show of a certificate, or not in a form that programs can read. */
export interface CertificateFacts {
  /** The hosts and addresses of `subjectAltName`. */
  readonly names: readonly SubjectName[];
  /** The content of the serial number in DER, with the zero before a first bit that is set. */
  readonly serial: Buffer;
  /** The key of the issuer (RFC 5280, 4.2.1.1), if the certificate names it. */
  readonly authorityKey: Buffer | undefined;
}

const ALTERNATIVES = '2.5.29.17';
const AUTHORITY_KEY = '2.5.29.35';

/** Reads a certificate. Throws if it is malformed. */
export function factsOf({ raw }: X509Certificate): CertificateFacts {
  const { serialNumber, extensions = [] } = Certificate.fromBER(raw);
  const valueOf = (id: string): unknown => extensions.find(({ extnID }) => extnID === id)?.parsedValue;
  const [alternatives, authority] = [valueOf(ALTERNATIVES), valueOf(AUTHORITY_KEY)];
  const keyId = authority instanceof AuthorityKeyIdentifier ? authority.keyIdentifier : undefined;
  return {
    names: alternatives instanceof AltName ? alternativesIn(alternatives) : [],
    serial: Buffer.from(serialNumber.valueBlock.valueHexView),
    authorityKey: keyId && Buffer.from(keyId.valueBlock.valueHexView),
  };
}
