import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { cached, cacheStatus, clockOfFile, startOrigin } from './origin.ts';

const { options, passed } = clockOfFile();

function filesOf(gw: Gateway): string[] {
  const root = join(gw.dir, 'cache');
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => join(root, name))
    .filter((path) => existsSync(path) && statSync(path).isFile());
}

test('a response that is not requested during "inactive" is removed, fresh or not', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin, '', 'inactive=1m'), options);
  await cacheStatus(gw, '/a');
  await cacheStatus(gw, '/b');
  await expect.poll(() => filesOf(gw)).toHaveLength(2);
  passed(40);
  expect(await cacheStatus(gw, '/b')).toBe('HIT number 2');
  passed(70);
  await expect.poll(() => filesOf(gw), { timeout: 5_000 }).toHaveLength(1);
  expect(await cacheStatus(gw, '/b')).toBe('HIT number 2');
  expect(await cacheStatus(gw, '/a')).toBe('MISS number 3');
});

test('over "max_size" the least recently used responses go', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(
    t,
    cached(origin, '', 'max_size=250k manager_files=2 manager_sleep=1ms'),
    options,
  );
  origin.respond = (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=3600').end('x'.repeat(50_000));
  };
  for (let n = 0; n < 8; n++) {
    passed(n * 2);
    await cacheStatus(gw, `/${n}`);
    await cacheStatus(gw, '/0');
  }
  await expect.poll(() => filesOf(gw).length, { timeout: 5_000 }).toBeLessThanOrEqual(5);
  expect((await cacheStatus(gw, '/0')).slice(0, 3)).toBe('HIT');
  expect((await cacheStatus(gw, '/1')).slice(0, 4)).toBe('MISS');
});

test('a full index drops the least recently used responses, and every request has its response', async (t) => {
  const origin = await startOrigin(t);
  const http = cached(origin).replace('keys_zone=one:1m', 'keys_zone=one:16k');
  const gw = await startGateway(t, http);
  for (let n = 0; n < 200; n++) expect(await cacheStatus(gw, `/${n}`)).toMatch(/number/);
  await expect.poll(() => cacheStatus(gw, '/199')).toMatch(/^HIT/);
  expect((await cacheStatus(gw, '/0')).slice(0, 4)).toBe('MISS');
});

test('a start removes unfinished files and keeps files of other programs', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin));
  // An incomplete file would be removed at the start as well.
  await expect.poll(() => cacheStatus(gw)).toBe('HIT number 1');
  await gw.stop();
  const root = join(gw.dir, 'cache');
  const name = 'a'.repeat(32);
  writeFileSync(join(root, `${name}-0123456789abcdef-1-1.part`), 'unfinished');
  mkdirSync(join(root, 'mine'));
  // A file of another program may have the name of an entry, as those of nginx do.
  mkdirSync(join(root, 'a', 'aa'), { recursive: true });
  for (const foreign of ['README', name, `mine/${name}`, `${name}.part`, `a/aa/${name}`])
    writeFileSync(join(root, foreign), 'mine');
  gw.start();
  await expect
    .poll(() => filesOf(gw).map((path) => path.slice(root.length + 1)), { timeout: 5_000 })
    .not.toContain(`${name}-0123456789abcdef-1-1.part`);
  expect(filesOf(gw)).toHaveLength(6);
  await expect.poll(() => cacheStatus(gw)).toBe('HIT number 1');
});

test('every response is sent if the directory of its cache is missing', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin), options);
  const large = 'x'.repeat(300_000);
  await cacheStatus(gw);
  // A file that is still being written would be created again while the directory is removed.
  await expect.poll(() => filesOf(gw).filter((path) => !path.endsWith('.part'))).toHaveLength(1);
  rmSync(join(gw.dir, 'cache'), { recursive: true });
  // Nothing can be created below a file in place of the directory.
  writeFileSync(join(gw.dir, 'cache'), '');
  origin.respond = (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=3600').end(large);
  };
  for (let round = 0; round < 3; round++) expect(await cacheStatus(gw, '/large')).toBe(`MISS ${large}`);
  expect(gw.errorLog().match(/\[crit\].*stores nothing for 10s/g)).toHaveLength(1);
  rmSync(join(gw.dir, 'cache'));
  passed(11);
  expect(await cacheStatus(gw, '/large')).toBe(`MISS ${large}`);
  await expect.poll(() => cacheStatus(gw, '/large')).toBe(`HIT ${large}`);
});

test('if the file of a response is missing, it is fetched again', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin));
  const large = 'x'.repeat(300_000);
  origin.respond = (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=3600').end(large);
  };
  await cacheStatus(gw);
  await expect.poll(() => filesOf(gw).filter((path) => !path.endsWith('.part'))).toHaveLength(1);
  for (const path of filesOf(gw)) rmSync(path);
  expect(await cacheStatus(gw)).toBe(`MISS ${large}`);
  await expect.poll(() => cacheStatus(gw)).toBe(`HIT ${large}`);
  await gw.waitForLog(/\[crit\].*open\(\)/);
});

test('files that cannot be opened are logged once in 10 s', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin), options);
  origin.respond = (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=3600').end('x'.repeat(300_000));
  };
  const complete = (): string[] => filesOf(gw).filter((path) => !path.endsWith('.part'));
  const told = (): number => gw.errorLog().match(/\[crit\].*open\(\)/g)?.length ?? 0;
  // The files of the first round are stored. Later rounds fetch the pages again, because their files are gone.
  for (const [round, lines] of [0, 1, 1, 2].entries()) {
    if (round === 3) passed(11);
    for (const path of complete()) rmSync(path);
    for (const path of ['/a', '/b', '/c']) expect((await cacheStatus(gw, path)).slice(0, 6)).toBe('MISS x');
    await expect.poll(complete).toHaveLength(3);
    // A line that comes again within a second is written with its number.
    await expect.poll(told, { timeout: 5_000 }).toBe(lines);
  }
});

test('uses are counted for a key, not for each of its variants', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin, 'proxy_cache_min_uses 2;'));
  origin.respond = (request, response) => {
    response.setHeader('Cache-Control', 'max-age=3600').setHeader('Vary', 'X-Kind');
    response.end(String(request.headers['x-kind']));
  };
  const status = (kind: string): Promise<string> => cacheStatus(gw, '/a', { headers: { 'X-Kind': kind } });
  expect(await status('one')).toBe('MISS one');
  expect(await status('one')).toBe('MISS one');
  await expect.poll(() => status('one')).toBe('HIT one');
  expect(await status('two')).toBe('MISS two');
  expect(await status('two')).toBe('HIT two');
});

test('a second X-Accel-Expires is ignored and logged', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin));
  origin.respond = (_request, response) => {
    response.setHeader('X-Accel-Expires', ['100', '0']).end('one');
  };
  expect(await cacheStatus(gw)).toBe('MISS one');
  expect(await cacheStatus(gw)).toBe('HIT one');
  await gw.waitForLog(
    /\[warn\] .*upstream sent duplicate header line: "X-Accel-Expires: 0", previous value: "X-Accel-Expires: 100", ignored/,
  );
});
