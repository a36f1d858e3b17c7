import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';

const conf = (zone = 'z:64k state=z.json timeout=1h'): string => `
  keyval_zone zone=${zone};
  keyval $arg_k $found zone=z;
  server { location / { return 200 "<$found>"; } location /kv/ { control_api keyval; } }`;

const post = (gw: Gateway, body: object) => gw.fetch('/kv/z', { method: 'POST', body: JSON.stringify(body) });
const entries = async (gw: Gateway): Promise<unknown> => JSON.parse((await gw.fetch('/kv/z')).body);
const stateOf = (gw: Gateway): unknown => JSON.parse(readFileSync(join(gw.dir, 'z.json'), 'utf8'));
const asideOf = (gw: Gateway): readonly string[] =>
  readdirSync(gw.dir).filter((name) => name.startsWith('z.json.broken-'));

test('the file has the entries with the time at which they end', async (t) => {
  const gw = await startGateway(t, conf(), { workers: 2 });
  await post(gw, { a: { value: '1', expire: 1_000_000 } });
  const isKept = () => readdirSync(gw.dir).includes('z.json');
  await expect.poll(isKept).toBe(true);
  const { a } = stateOf(gw) as { a: { value: string; expires: number } };
  expect(a.value).toBe('1');
  expect(Math.abs(a.expires - Date.now() - 1_000_000)).toBeLessThan(600_000);
});

test('a start reads the file, without the entries that have ended', async (t) => {
  const kept = {
    text: 'ü',
    'with "quotes"': { value: '2', expires: Date.now() + 1_000_000 },
    over: { value: '3', expires: Date.now() - 1 },
  };
  const gw = await startGateway(t, conf(), { workers: 2, files: { 'z.json': JSON.stringify(kept) } });
  expect(await entries(gw)).toEqual({ text: 'ü', 'with "quotes"': '2' });
  expect(asideOf(gw)).toEqual([]);
});

test('what was changed last is in the file when the gateway has ended', async (t) => {
  const gw = await startGateway(t, conf(), { workers: 2 });
  await post(gw, { last: '1' });
  await gw.stop();
  expect(stateOf(gw)).toMatchObject({ last: { value: '1' } });
});

const broken = [
  { it: 'that is cut off', text: '{"a":"1"', why: /it is not a JSON object/, left: {} },
  {
    it: 'with a value of another type',
    text: '{"a":"1","b":[]}',
    why: /1 of its entries are malformed/,
    left: { a: '1' },
  },
  {
    it: 'with more than the zone has room for',
    text: JSON.stringify({ a: '1', b: 'x'.repeat(100_000) }),
    why: /the zone has no room for 1 of its entries/,
    left: { a: '1' },
  },
  {
    it: 'that is much longer than the zone',
    text: `{"a":"${'x'.repeat(600_000)}"}`,
    why: /too long/,
    left: {},
  },
];

for (const { it, text, why, left } of broken) {
  test(`a file ${it} is told, kept under another name, and not lost`, async (t) => {
    const gw = await startGateway(t, conf(), { workers: 2, files: { 'z.json': text } });
    await gw.waitForLog(new RegExp(`\\[error\\] .*the state of keyval zone "z" .*${why.source}.*kept as`));
    expect(await entries(gw)).toEqual(left);
    await post(gw, { more: '1' });
    await expect.poll(() => stateOf(gw)).toMatchObject({ more: {} });
    const [aside = ''] = asideOf(gw);
    expect(readFileSync(join(gw.dir, aside), 'utf8')).toBe(text);
  });
}

test('a write that fails is told once, and made up for', async (t) => {
  const gw = await startGateway(t, conf('z:64k state=kept/z.json'), { files: { 'kept/z.json': '{}' } });
  const kept = join(gw.dir, 'kept');
  renameSync(kept, `${kept}.away`);
  await post(gw, { a: '1' });
  await gw.waitForLog(/\[error\] .*write\(\) ".*kept\/z\.json" failed/);
  renameSync(`${kept}.away`, kept);
  await expect.poll(() => readFileSync(join(kept, 'z.json'), 'utf8')).toContain('"a":"1"');
  expect(gw.errorLog().match(/z\.json/g)).toHaveLength(1);
});
