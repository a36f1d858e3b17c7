import { createPrivateKey, type X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate } from 'node:tls';

/** OpenSSL 3's number and message (X509_verify_cert_error_string) of each verification error, by the code of node:tls. */
const VERIFY_ERRORS: Readonly<Record<string, readonly [number: number, message: string]>> = {
  UNABLE_TO_GET_ISSUER_CERT: [2, 'unable to get issuer certificate'],
  UNABLE_TO_GET_CRL: [3, 'unable to get certificate CRL'],
  CERT_SIGNATURE_FAILURE: [7, 'certificate signature failure'],
  CRL_SIGNATURE_FAILURE: [8, 'CRL signature failure'],
  CERT_NOT_YET_VALID: [9, 'certificate is not yet valid'],
  CERT_HAS_EXPIRED: [10, 'certificate has expired'],
  CRL_NOT_YET_VALID: [11, 'CRL is not yet valid'],
  CRL_HAS_EXPIRED: [12, 'CRL has expired'],
  DEPTH_ZERO_SELF_SIGNED_CERT: [18, 'self-signed certificate'],
  SELF_SIGNED_CERT_IN_CHAIN: [19, 'self-signed certificate in certificate chain'],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [20, 'unable to get local issuer certificate'],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [21, 'unable to verify the first certificate'],
  CERT_CHAIN_TOO_LONG: [22, 'certificate chain too long'],
  CERT_REVOKED: [23, 'certificate revoked'],
  PATH_LENGTH_EXCEEDED: [25, 'path length constraint exceeded'],
  INVALID_PURPOSE: [26, 'unsuitable certificate purpose'],
  CERT_UNTRUSTED: [27, 'certificate not trusted'],
  CERT_REJECTED: [28, 'certificate rejected'],
  INVALID_CA: [79, 'invalid CA certificate'],
};

/** Returns the number and the message of a verification error; an unknown code is its own message. */
export function verifyError(code: string): { readonly number: number; readonly message: string } {
  const [number, message] = VERIFY_ERRORS[code] ?? [1, code];
  return { number, message };
}

/** Counts the certificates between a peer's own and the root, which is its own issuer: OpenSSL's depth. */
export function intermediatesOf(leaf: DetailedPeerCertificate): number {
  let count = 0;
  // The last certificate of an incomplete chain has no issuer, contrary to the type.
  for (
    let at = leaf.issuerCertificate as DetailedPeerCertificate | undefined;
    at?.issuerCertificate && at.issuerCertificate !== at;
    at = at.issuerCertificate
  )
    count++;
  return count;
}

/** Returns the URL of the OCSP responder that a certificate names. */
export function ocspResponderOf({ infoAccess }: X509Certificate): string | undefined {
  return /^OCSP - URI:(http:\/\/\S+)$/im.exec(infoAccess ?? '')?.[1];
}

/** The parts of a PEM text with this label, one text each: of some kinds node:tls reads only the first one of a text. */
export function splitPem(pem: string, label: 'CERTIFICATE' | 'X509 CRL'): readonly string[] {
  const part = new RegExp(`-----BEGIN [A-Z0-9 ]*${label}-----[^]*?-----END [A-Z0-9 ]*${label}-----`, 'g');
  return pem.match(part) ?? [pem];
}

/** Returns the one of some passphrases that decrypts a key; `undefined`: it needs none, or none of them does. */
export function passphraseOf(pem: string, passphrases: readonly string[]): string | undefined {
  return passphrases.find((passphrase) => {
    try {
      return createPrivateKey({ key: pem, passphrase }).type === 'private';
    } catch {
      return false;
    }
  });
}
