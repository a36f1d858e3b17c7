import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Owner } from './owner.ts';

/** A server of http-01 on a free port. */
export async function startAnswering(
  t: Owner,
): Promise<{ readonly port: number; readonly answers: Map<string, string> }> {
  const answers = new Map<string, string>();
  const server = createServer(({ url = '' }, response) => {
    const answer = answers.get(url.replace('/.well-known/acme-challenge/', ''));
    response.writeHead(answer === undefined ? 404 : 200).end(answer);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => void server.close());
  return { port: (server.address() as AddressInfo).port, answers };
}
