import type { SentResponse } from '../../harness/test-wire.ts';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { postgres } from '../../harness/postgres.ts';
import { direct } from './direct.ts';

const FIXTURE = `
  create view pid as select pg_backend_pid() as pid from pg_sleep(0.02);
  grant select on pid to anon;
`;

const int32 = (n: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(n);
  return bytes;
};
const message = (type: string, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);

/** A server that speaks just enough of the protocol to ask for a password and to refuse the connection. */
async function refusing(code: string, text: string): Promise<number> {
  const fields = `SFATAL\0VFATAL\0C${code}\0M${text}\0\0`;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(message('R', int32(3)));
      socket.once('data', () => socket.end(message('E', Buffer.from(fields))));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const refusals: [code: string, text: string][] = [
  ['57P03', 'the database system is starting up'],
  ['28P01', 'password authentication failed for user "web"'],
  ['53300', 'sorry, too many clients already'],
];
test.each(refusals)(
  'a server that refuses with %s "%s" is 503; only the log has the cause, and nothing shows the password',
  async (code, text) => {
    const port = await refusing(code, text);
    const dsn = `postgresql://web:s3cret-word@127.0.0.1:${port}/shop?sslmode=disable`;
    const api = await direct({ onTestFinished }, dsn);
    const responses: SentResponse[] = [];
    for (let i = 0; i < 4; i += 1) responses.push(await api.get('/api/pid'));
    for (const { status, headers, body } of responses) {
      expect([status, headers['proxy-status'], headers['retry-after']]).toEqual([
        503,
        'gw; error=PGRST000',
        '1',
      ]);
      expect(JSON.parse(body)).toEqual({
        code: 'PGRST000',
        details: null,
        hint: null,
        message: 'Database connection error.',
      });
    }
    expect(api.log.join('\n')).toContain(`(${text})`);
    expect(`${JSON.stringify(responses)}${api.log.join('\n')}`).not.toContain('s3cret');
  },
);

/** A server that takes connections and says nothing. */
async function silent(): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on('error', () => undefined));
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

test('a server that does not respond within connect_timeout is 504; only the log says which', async () => {
  const port = await silent();
  const dsn = `postgresql://web:s3cret-word@127.0.0.1:${port}/shop?sslmode=disable&connect_timeout=2`;
  const api = await direct({ onTestFinished }, dsn);
  const [first, second] = await Promise.all([api.get('/api/pid'), api.get('/api/pid')]);
  for (const { status, headers, body } of [first, second]) {
    expect([status, headers['proxy-status']]).toEqual([504, 'gw; error=PGRST003']);
    expect(JSON.parse(body)).toEqual({
      code: 'PGRST003',
      details: null,
      hint: null,
      message: 'Timed out acquiring connection from connection pool.',
    });
  }
  const log = api.log.join('\n');
  expect(log).toContain(
    `PGRST003 Timed out acquiring connection from connection pool. (no connection to 127.0.0.1:${port} within 2 s`,
  );
  expect(log).not.toContain('s3cret');
});

test('a host without an address is 503; only the log names it', async () => {
  const api = await direct({ onTestFinished }, 'postgresql://web@no-such-host.invalid/shop');
  const { status, headers, body } = await api.get('/api/pid');
  expect([status, headers['proxy-status'], headers['retry-after']]).toEqual([503, 'gw; error=PGRST000', '1']);
  expect(body).not.toContain('no-such-host');
  expect(api.log.join('\n')).toContain('no-such-host.invalid');
});

test('a full database is used with the connections that are open', async () => {
  const db = await postgres(FIXTURE);
  await db.query(`alter database ${db.database} connection limit 3`);
  const api = await direct({ onTestFinished }, db.dsn, { poolSize: 16, poolTimeoutMs: 20_000 });
  const responses = await Promise.all(Array.from({ length: 40 }, () => api.get('/api/pid')));
  expect(responses.map(({ status, body }) => (status === 200 ? 200 : body))).toEqual(
    responses.map(() => 200),
  );
  const pids = new Set(responses.map(({ body }) => body));
  expect(pids.size).toBeLessThanOrEqual(3);
});

test('a database without a free connection gives 503 until there is one', async () => {
  const db = await postgres(FIXTURE);
  await db.query(`alter database ${db.database} connection limit 0`);
  const api = await direct({ onTestFinished }, db.dsn);
  const response = await api.get('/api/pid');
  expect([response.status, JSON.parse(response.body)]).toMatchObject([
    503,
    { code: 'PGRST000', details: null },
  ]);
  expect(api.log.join('\n')).toContain(`too many connections for database "${db.database}"`);
  await db.query(`alter database ${db.database} connection limit -1`);
  let { status } = await api.get('/api/pid');
  while (status === 503) ({ status } = await api.get('/api/pid'));
  expect(status).toBe(200);
});
