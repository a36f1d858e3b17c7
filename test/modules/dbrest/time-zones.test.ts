import { beforeAll, describe, expect, test } from 'vitest';
import { postgres, type TestDatabase } from '../../harness/postgres.ts';
import { type Direct, sharedDirect } from './direct.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await postgres(`
    create table notes (id int primary key, written timestamptz not null default '2024-07-01 12:00:00+00');
    insert into notes values (1);
    create function noon() returns timestamptz stable language sql as $$ select written from notes where id = 1 $$;
    create view sessions as select pg_backend_pid() as pid, current_setting('timezone') as zone;
    grant all on notes, sessions to anon;
  `);
});

const compiled = sharedDirect();
const location = (): Promise<Direct> => compiled(db.dsn, { poolSize: 1 });

const taken: readonly (readonly [zone: string, noon: string])[] = [
  ['America/Los_Angeles', '2024-07-01T05:00:00-07:00'],
  ['asia/tokyo', '2024-07-01T21:00:00+09:00'],
  ['EST', '2024-07-01T07:00:00-05:00'],
  ['-4', '2024-07-01T08:00:00-04:00'],
  ['+4', '2024-07-01T16:00:00+04:00'],
  ['5.5', '2024-07-01T17:30:00+05:30'],
  ['+05:30', '2024-07-01T06:30:00-05:30'],
  ['-3:30', '2024-07-01T15:30:00+03:30'],
  ['<+0530>-05:30', '2024-07-01T17:30:00+05:30'],
  ['XYZ+3', '2024-07-01T09:00:00-03:00'],
];
test.each(taken)('Prefer: timezone=%s shows noon as %s', async (zone, noon) => {
  const api = await location();
  const headers = { prefer: `timezone=${zone}` };
  const applied = { 'preference-applied': `timezone=${zone}` };
  const read = { status: 200, body: JSON.stringify([{ written: noon }]), headers: applied };
  expect(await api.get('/api/notes?select=written', headers)).toMatchObject(read);
  expect(await api.get('/api/rpc/noon', headers)).toMatchObject({
    status: 200,
    body: JSON.stringify(noon),
    headers: applied,
  });
});

test('the time zone of a request is not that of the next one', async () => {
  const api = await location();
  const before = await api.get('/api/sessions');
  await api.get('/api/sessions', { prefer: 'timezone=Asia/Tokyo' });
  expect((await api.get('/api/sessions')).body).toBe(before.body);
});

describe('what PostgreSQL refuses as a time zone is its own error', () => {
  const refused = ['Jupiter/Red_Spot', "UTC'", '200', '+05:75', 'role "x" does not exist'];
  test.each(
    refused.flatMap((zone) => ['', 'handling=lenient, ', 'handling=strict, '].map((how) => [how, zone])),
  )('%stimezone=%s', async (how, zone) => {
    const api = await location();
    const { status, headers, body } = await api.get('/api/notes', { prefer: `${how}timezone=${zone}` });
    expect([status, headers['proxy-status']]).toEqual([400, 'gw; error=22023']);
    expect(JSON.parse(body)).toMatchObject({
      code: '22023',
      message: `invalid value for parameter "TimeZone": ${JSON.stringify(zone).replaceAll('\\"', '"')}`,
    });
    expect(headers['preference-applied']).toBeUndefined();
  });
});

test('a session that has used many time zones is replaced, for they stay in its memory', async () => {
  const api = await location();
  const sessions = new Set<string>();
  for (let number = 0; number < 1_100; number += 1) {
    const code = [number / 676, (number / 26) % 26, number % 26].map((n) => String.fromCharCode(65 + n));
    const { body } = await api.get('/api/sessions?select=pid', { prefer: `timezone=${code.join('')}5` });
    sessions.add(body);
  }
  expect(sessions.size).toBe(3);
});
