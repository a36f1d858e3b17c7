import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { LiveScope } from '../../../src/contract/index.ts';
import type { DbrestConfig } from '../../../src/modules/dbrest/directives/index.ts';
import { probeDatabase } from '../../../src/modules/dbrest/probe/index.ts';
import { readDsn } from '../../../src/postgres/index.ts';
import { oldPostgres } from '../../tools/check/live/old-postgres.ts';

const SCOPE: LiveScope = { timeoutMs: 300, once: (_key, ask) => ask(), upstream: () => undefined };

function configOf(dsn: string): DbrestConfig {
  const target = readDsn(dsn);
  if ('fault' in target) throw new Error(target.fault.message);
  return { pass: { kind: 'server', target }, schemas: ['api'], anonRole: 'anon' } as unknown as DbrestConfig;
}

const said = async (dsn: string): Promise<readonly string[]> =>
  (await probeDatabase(configOf(dsn), SCOPE)).map(({ message }) => message);

test('a server that accepts a connection and then sends nothing is given up', async () => {
  const { port } = await oldPostgres({ onTestFinished });
  expect(await said(`postgresql://a@127.0.0.1:${port}/x?sslmode=disable`)).toEqual([
    `the database at 127.0.0.1:${port} cannot be reached: no response in time`,
  ]);
});

test('a server that hangs up, and one that is not PostgreSQL, are reported', async () => {
  for (const reply of ['', 'HTTP/1.1 400 Bad Request\r\n\r\n']) {
    const server = createServer((socket) => socket.on('error', () => undefined).end(reply));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const [message] = await said(`postgresql://a:s3cret@127.0.0.1:${port}/x?sslmode=disable`);
    expect(message).toMatch(/^the database at 127\.0\.0\.1:\d+ cannot be reached: /);
    expect(message).not.toContain('s3cret');
  }
});

test('a missing file of the connection string is reported', async () => {
  expect(await said('host=db.invalid sslmode=verify-full sslrootcert=/nowhere/ca.pem user=a')).toEqual([
    'the database at db.invalid:5432 cannot be reached: there is no such socket or file',
  ]);
});
