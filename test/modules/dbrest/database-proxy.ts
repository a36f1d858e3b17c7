import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Owner } from '../../harness/owner.ts';
import type { TestDatabase } from '../../harness/postgres.ts';

/**
 * Starts a proxy of the database, until its owner ends: by default the test. `pass` handles the bytes of a client.
 * Returns the data source name of the database by way of the proxy.
 */
export async function throughProxy(
  db: TestDatabase,
  pass: (bytes: Buffer, ends: { readonly client: Socket; readonly upstream: Socket }) => void,
  owner: Owner = { onTestFinished },
): Promise<string> {
  const server = createServer((client) => {
    const upstream = connect(db.port, db.host);
    client.on('data', (bytes) => pass(bytes, { client, upstream }));
    upstream.pipe(client);
    for (const socket of [client, upstream]) {
      socket.on('error', () => undefined).on('close', () => (client.destroy(), upstream.destroy()));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  owner.onTestFinished(async () => void server.close());
  return db.dsn.replace(`:${db.port}/`, `:${(server.address() as AddressInfo).port}/`);
}
