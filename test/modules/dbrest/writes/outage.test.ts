import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { ownPostgres } from '../../../harness/own-postgres.ts';

const LANES = 8;
/** The longest time from the return of the database to the first good response. */
const RECOVERY_MS = 2_000;
/** The table has no key, so a repeated write would show. */
const FIXTURE = `
  create role anon;
  create table log (id int, lane int);
  grant insert on log to anon;
`;

/** Writes rows one after the other in every lane, until it is stopped; gives the status for each row. */
function keepWriting(gw: Gateway) {
  const responses = new Map<number, number>();
  const waiting = new Map<number, (() => void)[]>();
  let last = 0;
  let isStopped = false;
  const write = async (lane: number): Promise<void> => {
    while (!isStopped) {
      last += 1;
      const id = last;
      const body = JSON.stringify({ id, lane });
      const { status } = await gw.fetch('/api/log', { method: 'POST', body });
      responses.set(id, status);
      for (const resolve of waiting.get(status)?.splice(0) ?? []) resolve();
    }
  };
  const lanes = Promise.all(Array.from({ length: LANES }, (_, lane) => write(lane)));
  return {
    /** Resolves at the next response with this status. */
    next: (status: number) =>
      new Promise<void>((resolve) => {
        waiting.set(status, [...(waiting.get(status) ?? []), resolve]);
      }),
    async stop(): Promise<ReadonlyMap<number, number>> {
      isStopped = true;
      await lanes;
      expect(responses.size).toBe(last);
      return responses;
    },
  };
}

type Query = Awaited<ReturnType<typeof ownPostgres>>['query'];

const disasters: readonly [what: string, kill: (query: Query) => Promise<void>, isGone: boolean][] = [
  [
    'a backend is killed',
    async (query) => {
      const sql = `select pid from pg_stat_activity where application_name = 'gw' order by state limit 1`;
      const [backend] = await query<{ pid: number }>(sql);
      process.kill(backend?.pid as number, 'SIGKILL');
    },
    false,
  ],
  [
    'the server stops at once',
    async (query) => {
      const [file] = await query<{ pid: number }>(
        `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int as pid`,
      );
      process.kill(file?.pid as number, 'SIGQUIT');
    },
    true,
  ],
];
test.each(disasters)('when %s every write gets a response, none is done twice', async (_, kill, isGone) => {
  const server = await ownPostgres({ onTestFinished }, FIXTURE);
  const gw = await startGateway(
    { onTestFinished },
    `server { location /api/ { dbrest_pass ${server.dsn}; dbrest_pool_size ${LANES}; dbrest_anon_role anon; } }`,
  );
  const writing = keepWriting(gw);
  await writing.next(201);
  await kill(server.query);
  await writing.next(503);
  if (isGone) await server.start();
  await server.query('select 1');
  const late = sleep(RECOVERY_MS).then(() => 'late');
  expect(await Promise.race([writing.next(201), late])).not.toBe('late');

  const responses = await writing.stop();
  const rows = await server.query<{ id: number; times: number }>(
    'select id, count(*)::int as times from log group by id',
  );
  const times = new Map(rows.map((row) => [row.id, row.times]));
  for (const [id, status] of responses) {
    const done = times.get(id) ?? 0;
    expect([201, 500, 503], `row ${id}`).toContain(status);
    if (status === 201) expect(done, `row ${id}`).toBe(1);
    else expect(done, `row ${id}`).toBeLessThanOrEqual(1);
  }
});
