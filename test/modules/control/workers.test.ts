import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { error } from './cases/case.ts';

/** Nothing here is counted from the start of a process. */
const options = { workers: 4, fresh: false };

const conf = (sizeKb: number, more = '') => `
  shared_dict_zone zone=feature_flags:${sizeKb}k ${more};
  feature_flag $new new;
  server {
    location /runtime/ { control_api; }
    location = /new { return 200 "$pid $new"; }
  }`;

test('a change in one worker shows in all of them at once', async (t) => {
  const gw = await startGateway(t, conf(64), options);
  for (let round = 0; round < 20; round++) {
    const enabled = round % 2 === 0;
    await gw.fetch(`/runtime/flag/set?name=new&enabled=${enabled}&rollout_pct=${round % 2 === 0 ? 100 : 7}`);
    // Each call opens a new connection, which the kernel gives to any worker.
    const responses = await Promise.all(Array.from({ length: 16 }, () => gw.fetch('/runtime/flag?name=new')));
    for (const { body } of responses) {
      expect(JSON.parse(body)).toMatchObject({
        enabled: String(enabled),
        rollout_pct: enabled ? '100' : '7',
      });
    }
    const values = await Promise.all(Array.from({ length: 16 }, () => gw.fetch('/new')));
    expect(new Set(values.map(({ body }) => body.split(' ')[1]))).toEqual(new Set([enabled ? '1' : '0']));
  }
});

test('flags that are set at the same time are all kept', async (t) => {
  const gw = await startGateway(t, conf(64), options);
  const names = Array.from({ length: 200 }, (_, n) => `flag-${String(n).padStart(3, '0')}`);
  await Promise.all(names.map((name, n) => gw.fetch(`/runtime/flag/set?name=${name}&pct=${n % 101}`)));
  const flags = JSON.parse((await gw.fetch('/runtime/flags')).body) as {
    name: string;
    rollout_pct: string;
  }[];
  expect(flags.map(({ name, rollout_pct }) => [name, rollout_pct])).toEqual(
    names.map((name, n) => [name, String(n % 101)]),
  );
});

test('a reload keeps flags while the size of their dictionary stays', async (t) => {
  const gw = await startGateway(t, conf(64), options);
  await gw.fetch('/runtime/flag/set?name=new&pct=100&ttl=0');
  expect(await gw.reload(conf(64, 'timeout=10s evict'))).toBe('done');
  await gw.expect('GET /runtime/flag?name=new', {
    json: { status: 'ok', name: 'new', enabled: 'true', rollout_pct: '100', ttl_s: '0' },
  });
  expect(await gw.reload(conf(32))).toBe('done');
  await gw.expect('GET /runtime/flag?name=new', { json: error('flag not found: new') });
});

test('a full dictionary refuses new flags and probes, and keeps its entries', async (t) => {
  const gw = await startGateway(t, conf(4), options);
  for (let n = 0; n < 29; n++)
    await gw.expect(`GET /runtime/flag/set?name=f${n}&ttl=0`, {
      json: { status: 'ok', action: 'set', name: `f${n}`, enabled: 'true', rollout_pct: '100', ttl_s: '0' },
    });
  await gw.expect('GET /runtime/flag/set?name=f29', {
    status: 200,
    json: error('shared dict refused: the dictionary is full'),
  });
  await gw.expect('GET /runtime/cache/probe?dict=feature_flags', {
    status: 200,
    json: error('shared dict not reachable: feature_flags'),
  });
  await gw.expect('GET /runtime/flag/set?name=f0&enabled=0', {
    status: 200,
    json: { status: 'ok', action: 'set', name: 'f0', enabled: 'false', rollout_pct: '100', ttl_s: '3600' },
  });
  expect(JSON.parse((await gw.fetch('/runtime/flags')).body)).toHaveLength(29);
});

test('with evict the least recently used flags are removed', async (t) => {
  const gw = await startGateway(t, conf(4, 'evict'), { fresh: false });
  for (let n = 0; n < 29; n++) await gw.fetch(`/runtime/flag/set?name=f${n}`);
  await gw.fetch('/runtime/flag?name=f0');
  await gw.expect('GET /runtime/flag/set?name=f29', { status: 200 });
  await gw.expect('GET /runtime/flag?name=f1', { json: error('flag not found: f1') });
  await gw.expect('GET /runtime/flag?name=f0', { body: /"status":"ok"/ });
});
