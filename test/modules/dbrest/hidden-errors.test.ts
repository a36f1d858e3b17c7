import { type AddressInfo, createServer } from 'node:net';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { freePort } from '../../harness/ports.ts';
import { postgres } from '../../harness/postgres.ts';

/** Parts of the messages of the driver and the server that clients must not see. */
const SECRET = /secret|127\.0\.0\.1|localhost|\/[a-z]+\/|ECONN|ENOENT|administrator/i;

const fixture = (closedPort: number): string => `
  create extension postgres_fdw;
  create extension dblink;
  create server secret_server foreign data wrapper postgres_fdw options (host '127.0.0.1', port '${closedPort}', dbname 'secret_db');
  create user mapping for public server secret_server options (user 'secret_user', password 'secret');
  create foreign table distant (id int) server secret_server;
  create function linked() returns int stable security definer language sql
    as $$ select id from dblink('host=127.0.0.1 port=${closedPort} user=secret_user', 'select 1') t (id int) $$;
  create function reads_file() returns text stable security definer language sql
    as $$ select pg_read_file('/nowhere/secret.conf') $$;
  create function fails_inside() returns text stable security definer language plpgsql
    as $$ begin return pg_read_file('/nowhere/secret.conf'); end $$;
  create function ends() returns boolean volatile security definer language sql
    as $$ select pg_terminate_backend(pg_backend_pid()) $$;
  create function slow() returns void stable language sql set statement_timeout = 50 as $$ select pg_sleep(5) $$;
  create function spills() returns bigint volatile security definer language sql set temp_file_limit = '64kB' set work_mem = '64kB'
    as $$ select count(*) from (select i from generate_series(1, 200000) i order by -i offset 1) t $$;
  create function raises(code text) returns void volatile language plpgsql as $$
    begin raise exception 'words for the client' using errcode = code, detail = 'more', hint = 'and more'; end $$;
  grant select on distant to anon;
`;

const file = wholeFile();
let gw: Gateway;
beforeAll(async () => {
  const db = await postgres(fixture(await freePort()));
  gw = await startGateway(
    file,
    `server { location /api/ { dbrest_pass ${db.dsn}; dbrest_anon_role anon; dbrest_pool_size 1; } }`,
  );
});

const general: [path: string, status: number, code: string, message: string, logged: RegExp][] = [
  ['distant', 503, '08001', 'connection exception', /"secret_server": .*port \d+/],
  ['rpc/linked', 503, '08001', 'connection exception', /could not establish connection: .*port \d+/],
  ['rpc/reads_file', 500, '58P01', 'system error', /nowhere\/secret\.conf/],
  ['rpc/fails_inside', 500, '58P01', 'system error', /nowhere\/secret\.conf/],
  ['rpc/ends', 503, '57P01', 'operator intervention', /due to administrator command/],
];
test.each(general)(
  'GET %s: %i %s "%s" hides the details, and the log has them',
  async (...[path, status, code, message, logged]) => {
    const response = await gw.fetch(`/api/${path}`);
    expect([response.status, JSON.parse(response.body)]).toEqual([
      status,
      { code, details: null, hint: null, message },
    ]);
    await gw.waitForLog(logged);
    expect(gw.errorLog()).toMatch(
      new RegExp(
        `\\[error\\].*dbrest: ${code} ${message} \\(.*, client: 127\\.0\\.0\\.1, server: .*, request: "GET /api/${path}`,
      ),
    );
  },
);

test('a statement that takes too long gets the message of the server', async () => {
  const { body } = await gw.expect('GET /api/rpc/slow', { status: 500 });
  expect(JSON.parse(body)).toMatchObject({ code: '57014', message: /statement timeout/ });
});

test('a limit of the configuration that was reached is named', async () => {
  const response = await gw.fetch('/api/rpc/spills', { method: 'POST' });
  expect([response.status, JSON.parse(response.body)]).toEqual([
    500,
    {
      code: '53400',
      details: null,
      hint: null,
      message: expect.stringMatching(/^temporary file size exceeds "?temp_file_limit"? \(64kB\)$/) as unknown,
    },
  ]);
});

test.each(['08001', '28000', '3D000', '53300', '57P01', '58030', 'F0000', 'HV00N', 'XX000'])(
  'an error that a function raises as %s is sent unchanged',
  async (code) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    };
    const { body } = await gw.fetch('/api/rpc/raises', init);
    expect(JSON.parse(body)).toEqual({
      code,
      details: 'more',
      hint: 'and more',
      message: 'words for the client',
    });
  },
);

/** A port that closes every connection at once. */
async function hangUp(): Promise<string> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return String((server.address() as AddressInfo).port);
}

const unreachable: [what: string, dsn: () => Promise<string>, logged: RegExp][] = [
  [
    'a port on which nothing listens',
    async () => `"host=127.0.0.1 port=${await freePort()}"`,
    /ECONNREFUSED 127/,
  ],
  [
    'a port that closes every connection',
    async () => `"host=127.0.0.1 port=${await hangUp()}"`,
    /cannot connect to .+: .+; trying again/,
  ],
  ['an unknown host', () => Promise.resolve('"host=secret.invalid"'), /ENOTFOUND|EAI_AGAIN/],
  ['a missing socket', () => Promise.resolve('"host=/nowhere/secret"'), /ENOENT \/nowhere\/secret/],
  ['a missing role', async () => (await roleless()).replace('authenticator', 'secret_role'), /"secret_role"/],
  ['a missing database', async () => (await roleless()).replace(/[^/]+$/, 'secret_db'), /"secret_db"/],
  [
    'a missing certificate',
    async () =>
      `"host=127.0.0.1 port=${await freePort()} sslmode=verify-full sslrootcert=/nowhere/secret.pem"`,
    /nowhere\/secret\.pem/,
  ],
];

async function roleless(): Promise<string> {
  const { dsn } = await postgres('create table t (id int)');
  return dsn;
}

test.each(unreachable)('%s: only the log has the cause', async (_, dsn, logged) => {
  const broken = await startGateway(
    { onTestFinished },
    `server { location /api/ { dbrest_pass ${await dsn()}; dbrest_anon_role anon; } }`,
  );
  for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
    const { status, body, headers } = await broken.fetch('/api/t', {
      method,
      ...(method === 'POST' && { body: '{}' }),
    });
    expect(status).toBe(503);
    expect(`${body}${JSON.stringify([...headers])}`).not.toMatch(SECRET);
    if (method !== 'HEAD') {
      expect(JSON.parse(body)).toMatchObject({ code: 'PGRST000', details: null, hint: null });
    }
  }
  await broken.waitForLog(logged);
});
