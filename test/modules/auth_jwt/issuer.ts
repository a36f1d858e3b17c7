import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Owner } from '../../harness/owner.ts';

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
  /** The paths that were asked for. */
  readonly asked: string[];
  respond: RequestListener;
}

export async function startIssuer(t: Owner, text: string): Promise<Issuer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    issuer.respond(request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  const { port } = server.address() as AddressInfo;
  const issuer: Issuer = {
    url: `http://127.0.0.1:${port}/jwks`,
    port,
    asked,
    respond: (_request, response) => response.end(text),
  };
  return issuer;
}
