import { expect, test } from 'vitest';
import { withListen } from './conf.ts';
import { postgres } from './postgres.ts';
import { redis } from './redis.ts';

const confs = [
  {
    it: 'gives a server its port',
    http: 'server { return 200; }',
    whole: 'server { listen 127.0.0.1:1; return 200; }',
  },
  { it: 'leaves a server that listens', http: 'server{listen 80;}', whole: 'server{listen 80;}' },
  {
    it: 'leaves the servers of an upstream',
    http: 'upstream u { server a; }',
    whole: 'upstream u { server a; }',
  },
  {
    it: 'does not take a text for a directive',
    http: 'server { return 200 "} listen 1;"; } # server {\nserver {}',
    whole:
      'server { listen 127.0.0.1:1; return 200 "} listen 1;"; } # server {\nserver { listen 127.0.0.1:1;}',
  },
];

for (const { it, http, whole } of confs) {
  test(`the harness ${it}`, () => expect(withListen(http, 1)).toBe(whole));
}

test('postgres gives every caller a database of its own, with the fixture in it', async () => {
  const fixture = 'create table t (n int); insert into t values (1), (2)';
  const [a, b] = await Promise.all([postgres(fixture), postgres(fixture)]);
  await a.query('delete from t where n = $1', [1]);
  expect(await a.query('select n from t')).toEqual([{ n: 2 }]);
  expect(await b.query('select n from t order by n')).toEqual([{ n: 1 }, { n: 2 }]);
});

test('postgres passes the fault of a fixture on, each time', async () => {
  await expect(postgres('select 1 from nowhere')).rejects.toThrow('relation "nowhere" does not exist');
  await expect(postgres('select 1 from nowhere')).rejects.toThrow('relation "nowhere" does not exist');
});

test('redis is one server per file and comes back on the same port', async () => {
  const server = await redis();
  expect(await redis()).toBe(server);
  await server.client.set('k', 'v');
  await server.stop('SIGKILL');
  await server.start();
  expect(await server.client.get('k')).toBeNull();
});
