import type { RequestListener } from 'node:http';
import type { Owner } from '../../harness/owner.ts';
import { startPeer } from '../../harness/peer.ts';

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
