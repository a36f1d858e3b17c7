import { checkServerIdentity } from 'node:tls';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import { UpstreamFault } from './fault.ts';

/** OpenSSL's numbers and words for what Node.js names by a code. */
const VERIFY_ERRORS: Readonly<Record<string, string>> = {
  UNABLE_TO_GET_ISSUER_CERT: '2:unable to get issuer certificate',
  UNABLE_TO_GET_CRL: '3:unable to get certificate CRL',
  CERT_SIGNATURE_FAILURE: '7:certificate signature failure',
  CERT_NOT_YET_VALID: '9:certificate is not yet valid',
  CERT_HAS_EXPIRED: '10:certificate has expired',
  CRL_HAS_EXPIRED: '12:CRL has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: '18:self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: '19:self-signed certificate in certificate chain',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: '20:unable to get local issuer certificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: '21:unable to verify the first certificate',
  CERT_CHAIN_TOO_LONG: '22:certificate chain too long',
  CERT_REVOKED: '23:certificate revoked',
  INVALID_CA: '24:invalid CA certificate',
  INVALID_PURPOSE: '26:unsupported certificate purpose',
};

const STAGE = 'while SSL handshaking to upstream';

/** `proxy_ssl_verify`: whether a peer's certificate has a chain to a trusted one, short enough, and the right name. */
export function checkPeerCertificate(
  socket: TLSSocket,
  name: string,
  { verifyDepth }: { readonly verifyDepth: number },
): UpstreamFault | undefined {
  if (!socket.authorized) return verifyFault(String(socket.authorizationError));
  const certificate = socket.getPeerCertificate(true);
  if (intermediatesOf(certificate) > verifyDepth) return verifyFault('CERT_CHAIN_TOO_LONG');
  if (checkServerIdentity(name, certificate) === undefined) return undefined;
  return new UpstreamFault('error', `upstream SSL certificate does not match "${name}" ${STAGE}`);
}

function verifyFault(code: string): UpstreamFault {
  const words = VERIFY_ERRORS[code] ?? `1:${code}`;
  return new UpstreamFault('error', `upstream SSL certificate verify error: (${words}) ${STAGE}`);
}

/** Certificates between the peer's own and the trusted root, as OpenSSL counts its depth. */
function intermediatesOf(leaf: DetailedPeerCertificate): number {
  let count = 0;
  for (
    let at = leaf.issuerCertificate;
    at && at.issuerCertificate && at.issuerCertificate !== at;
    at = at.issuerCertificate
  ) {
    count++;
  }
  return count;
}
