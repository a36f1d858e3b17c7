import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { redis } from '../../harness/redis.ts';
import { eventually, scrape } from '../control/scrapes.ts';

test('metrics count commands as hits, misses and errors, and measure their duration', async (t) => {
  const store = await redis('--maxclients', '103');
  const locations = ['get', 'set', 'del', 'incr', 'ping'].map(
    (command) =>
      `location /${command} { kv_pass 127.0.0.1:${store.port}; kv_key $arg_k; kv_command ${command}; }`,
  );
  const gw = await startGateway(
    t,
    `server { location = /metrics { control_api metrics; } ${locations.join('\n')} }`,
    { workers: 2 },
  );
  await gw.expect('POST /set?k=a', { status: 200 }, { body: 'text' });
  for (const path of ['/get?k=a', '/get?k=a', '/get?k=b', '/ping'])
    await gw.expect(`GET ${path}`, { status: 200 });
  for (const path of ['/del?k=none', '/incr?k=n']) await gw.expect(`POST ${path}`, { status: 200 });
  await gw.expect('POST /incr?k=a', { status: 500 });
  const metrics = await scrape(gw);
  const of = (name: string, command: string) => metrics.get(`gw_kv_${name}{command="${command}"}`);
  expect([of('commands_total', 'get'), of('hits_total', 'get'), of('misses_total', 'get')]).toEqual([
    3, 2, 1,
  ]);
  expect([of('commands_total', 'del'), of('hits_total', 'del'), of('misses_total', 'del')]).toEqual([
    1, 0, 1,
  ]);
  expect([of('commands_total', 'ping'), of('hits_total', 'ping'), of('misses_total', 'ping')]).toEqual([
    1, 0, 0,
  ]);
  expect([of('commands_total', 'incr'), of('command_seconds_count', 'incr')]).toEqual([2, 2]);
  expect(metrics.get('gw_kv_errors_total{command="incr",code="kv_error"}')).toBe(1);

  await store.stop();
  await gw.expect('GET /get?k=a', { status: 502 });
  await eventually(gw, (now) =>
    expect(now.get('gw_kv_errors_total{command="get",code="connection_failed"}')).toBe(1),
  );
  await store.start();
});
