import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { BitString, Null } from 'asn1js';
import { AlgorithmIdentifier, PublicKeyInfo } from 'pkijs';

/** How a key signs: the algorithm of the signature (RFC 5758, RFC 4055) and its digest. */
const ALGORITHMS: Readonly<Record<string, readonly [algorithm: string, digest: string]>> = {
  prime256v1: ['1.2.840.10045.4.3.2', 'sha256'],
  secp384r1: ['1.2.840.10045.4.3.3', 'sha384'],
  secp521r1: ['1.2.840.10045.4.3.4', 'sha512'],
  rsa: ['1.2.840.113549.1.1.11', 'sha256'],
};

function algorithmOf({
  asymmetricKeyType: type,
  asymmetricKeyDetails,
}: KeyObject): readonly [string, string] {
  const found = ALGORITHMS[asymmetricKeyDetails?.namedCurve ?? `${type}`];
  if (!found) throw new Error(`a key of type "${type}" cannot sign certificates`);
  return found;
}

/** The algorithm of the signatures of a private key. Throws if the key is neither RSA nor of one of NIST's curves. */
export function signatureAlgorithm(key: KeyObject): AlgorithmIdentifier {
  const [algorithmId] = algorithmOf(key);
  // RSA has parameters, which are null; ECDSA has none.
  return new AlgorithmIdentifier({
    algorithmId,
    ...(key.asymmetricKeyType === 'rsa' && { algorithmParams: new Null() }),
  });
}

/** Signs bytes with a private key. */
export function signatureOf(signed: ArrayBuffer, key: KeyObject): BitString {
  const [, digest] = algorithmOf(key);
  return new BitString({ valueHex: sign(digest, Buffer.from(signed), key) });
}

/** The public half of a private key. */
export function publicKeyInfo(key: KeyObject): PublicKeyInfo {
  return PublicKeyInfo.fromBER(createPublicKey(key).export({ type: 'spki', format: 'der' }));
}
