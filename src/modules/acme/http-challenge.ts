import type { SharedCertificates } from '../../acme/index.ts';
import type { Exchange, Handler } from '../../http/index.ts';

const PREFIX = '/.well-known/acme-challenge/';
/** Tokens are base64url with at least 128 random bits (RFC 8555, 8.3). */
const TOKEN = /^[\w-]{1,256}$/;

/**
 * Responds to requests for tokens that this gateway waits to be asked for (RFC 8555, 8.3), whatever else the server
 * does with its requests. Of others it sees that their path is another one.
 */
export function compileHttpChallenge(certificates: SharedCertificates): Handler {
  return (x: Exchange) => {
    if (!x.uri.startsWith(PREFIX) || (x.method !== 'GET' && x.method !== 'HEAD')) return;
    const token = x.uri.slice(PREFIX.length);
    const keyAuthorization = TOKEN.test(token) ? certificates.token(token) : undefined;
    if (keyAuthorization === undefined) return;
    x.send(200, 'text/plain', keyAuthorization);
  };
}
