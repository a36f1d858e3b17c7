import type { RequestListener } from 'node:http';
import type { Owner } from '../../harness/owner.ts';
import { startPeer } from '../../harness/peer.ts';
import { SECRET } from '../../harness/tokens.ts';

/** A set of HMAC keys, by key id. */
export function jwks(keys: Readonly<Record<string, string>>): string {
  const all = Object.entries(keys).map(([kid, secret]) => ({
    kty: 'oct',
    kid,
    k: Buffer.from(secret).toString('base64url'),
  }));
  return JSON.stringify({ keys: all });
}

/** A server that publishes keys, and what it was asked. */
export interface Issuer {
  readonly url: string;
  readonly port: number;
  /** Requests, as `METHOD /target`. */
  readonly asked: readonly string[];
  respond: RequestListener;
}

export async function startIssuer(t: Owner, text: string): Promise<Issuer> {
  const { port, requests } = await startPeer(t, 'issuer', (request, response) =>
    issuer.respond(request, response),
  );
  const issuer: Issuer = {
    url: `http://127.0.0.1:${port}/jwks`,
    port,
    asked: requests,
    respond: (_request, response) => response.end(text),
  };
  return issuer;
}

/** Serves metadata and keys as an issuer with a path does; `openid`: at the address of OpenID Connect. */
export async function startMetadata(
  t: Owner,
  { secret = SECRET, openid = true, ...members }: { secret?: string; openid?: boolean; issuer?: string } = {},
): Promise<Issuer & { readonly iss: string }> {
  const issuer = await startIssuer(t, '');
  const iss = `http://127.0.0.1:${issuer.port}/tenant`;
  const at = openid
    ? '/tenant/.well-known/openid-configuration'
    : '/.well-known/oauth-authorization-server/tenant';
  const metadata = { issuer: iss, jwks_uri: `http://127.0.0.1:${issuer.port}/keys`, ...members };
  issuer.respond = (request, response) => {
    if (request.url === at) response.end(JSON.stringify(metadata));
    else if (request.url === '/keys') response.end(jwks({ a: secret }));
    else response.writeHead(404).end();
  };
  return Object.assign(issuer, { iss });
}
