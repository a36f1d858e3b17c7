import { X509Certificate } from 'node:crypto';
import { splitPem } from '../../system/index.ts';
import type { AcmeIdentifier } from '../plan.ts';

/** What is known of the certificate at the beginning of a chain. */
export interface ChainFacts {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** The hosts and addresses that it is valid for. */
  readonly names: readonly AcmeIdentifier[];
  /** In hexadecimal digits. */
  readonly serial: string;
  /** The common name of the authority that signed it, else its whole name. */
  readonly issuer: string;
  /** Names it to the authority (RFC 9773, 4.1); absent if it does not name the key of the authority. */
  readonly certificateId: string | undefined;
  /** SHA-256, in hexadecimal digits separated by colons. */
  readonly fingerprint: string;
}

const LONGEST_CHAIN = 16;
/** Far more than that many certificates need; memory that all workers share has room for more than one of them. */
const MOST_CHARACTERS = 65_536;

/** The certificates of a text in PEM. Throws a reason if there are none, too many, or anything else beside them. */
export function certificatesIn(pem: string): readonly X509Certificate[] {
  const begun = pem.match(/-----BEGIN /g)?.length ?? 0;
  if (begun === 0) throw new Error('it has no certificate');
  if (begun > LONGEST_CHAIN) throw new Error(`it has more than ${LONGEST_CHAIN} certificates`);
  if (pem.length > MOST_CHARACTERS) throw new Error(`it is longer than ${MOST_CHARACTERS} characters`);
  const parts = splitPem(pem, 'CERTIFICATE');
  if (begun !== parts.length) throw new Error('it has other things than certificates');
  return parts.map((part) => {
    try {
      return new X509Certificate(part);
    } catch {
      throw new Error('it has a malformed certificate');
    }
  });
}

/** The last line with the common name of a distinguished name as Node.js writes it, else all of it. */
function commonNameOf(name: string): string {
  const common = name.split('\n').findLast((line) => line.startsWith('CN='));
  return common?.slice(3) ?? name.replaceAll('\n', ', ');
}

/** Reads the certificate at the beginning of a chain in PEM. Rejects with a reason if the text is no chain. */
export async function readChain(pem: string): Promise<ChainFacts> {
  const [leaf] = certificatesIn(pem);
  if (!leaf) throw new Error('it has no certificate');
  return factsOfLeaf(leaf);
}

/** Reads one certificate. Rejects with a reason if its content is malformed. */
export async function factsOfLeaf(leaf: X509Certificate): Promise<ChainFacts> {
  const { factsOf } = await import('../../x509/index.ts');
  try {
    const { names, serial, authorityKey } = factsOf(leaf);
    return {
      notBeforeMs: Date.parse(leaf.validFrom),
      notAfterMs: Date.parse(leaf.validTo),
      names,
      serial: leaf.serialNumber.toLowerCase(),
      issuer: commonNameOf(leaf.issuer),
      certificateId: authorityKey && `${authorityKey.toString('base64url')}.${serial.toString('base64url')}`,
      fingerprint: leaf.fingerprint256,
    };
  } catch {
    throw new Error('it has a malformed certificate');
  }
}
