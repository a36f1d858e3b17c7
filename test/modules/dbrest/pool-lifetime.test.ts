import { beforeAll, expect, test, vi } from 'vitest';
import type { Session } from '../../../src/modules/dbrest/session/index.ts';
import { Costs, SharedSessions } from '../../../src/modules/dbrest/database/sharing.ts';
import { Pool } from '../../../src/postgres/pool.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';

const FIXTURE = `
  create view pid as select pg_backend_pid() as pid;
  grant select on pid to anon;
`;

const file = wholeFile();
let db: TestDatabase;
let gw: Gateway;
beforeAll(async () => {
  db = await postgres(FIXTURE);
  gw = await startGateway(
    file,
    `server { dbrest_anon_role anon; dbrest_pool_size 1;
       location /short/ { dbrest_pass ${db.dsn}; dbrest_pool_lifetime 1s; }
       location /long/ { dbrest_pass ${db.dsn}; dbrest_pool_lifetime 1h; } }`,
  );
});

async function pid(path = '/long/pid'): Promise<number> {
  const { status, body } = await gw.fetch(path);
  expect([status, body]).toEqual([200, expect.any(String)]);
  return (JSON.parse(body) as [{ pid: number }])[0].pid;
}

test('a session is closed at its age although nobody asks for it, and the shortest age of its locations counts', async () => {
  const first = await pid();
  while ((await db.query('select from pg_stat_activity where pid = $1', [first])).length > 0);
  expect(await pid()).not.toBe(first);
});

test('a session that requests share is replaced at its age, and no request fails', async () => {
  const first = await pid('/short/pid');
  let isReplaced = false;
  const lane = async (): Promise<void> => {
    while (!isReplaced) isReplaced ||= (await pid('/short/pid')) !== first;
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  expect(isReplaced).toBe(true);
});

test('requests join no shared session beyond its age, so that it becomes free', async () => {
  vi.useFakeTimers();
  try {
    const pool = new Pool<Session>({
      open: () => Promise.resolve({ isOpen: true, length: 1, check: () => undefined } as never),
      close: () => undefined,
      size: 2,
      maxAgeMs: 1_000,
    });
    const sessions = new SharedSessions(pool, new Costs());
    const shared = sessions.add(await pool.acquire({ waitMs: 1, queueLimit: 0 }), 1);
    await vi.advanceTimersByTimeAsync(900);
    expect(sessions.join(1, 16)).toBe(shared);
    await vi.advanceTimersByTimeAsync(200);
    expect(sessions.join(1, 16)).toBeUndefined();
    sessions.leave(shared, 1);
    sessions.leave(shared, 1);
    expect(pool.idle).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
