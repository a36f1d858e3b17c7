import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { type Gateway, startGateway } from '../../../harness/gateway.ts';
import { wholeFile } from '../../../harness/owner.ts';
import { cached, type Origin, startOrigin } from './origin.ts';

const isEntry = (path: string): boolean => !path.endsWith('.part') && statSync(path).isFile();

/** Waits until a response is on disk: its client gets it before that. */
async function stored(gw: Gateway): Promise<string> {
  await expect.poll(() => filesOf(gw)).toHaveLength(1);
  return filesOf(gw)[0] as string;
}

function filesOf(gw: Gateway): string[] {
  const root = join(gw.dir, 'cache');
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => join(root, name))
    .filter(isEntry);
}

async function status(gw: Gateway, path = '/a'): Promise<string> {
  const response = await gw.fetch(path);
  return `${String(response.headers.get('x-cache'))} ${response.body}`;
}

for (const workers of [1, 4]) {
  test(`a response that one of ${workers} workers has stored is served by all`, async (t) => {
    const origin = await startOrigin(t);
    const gw = await startGateway(t, cached(origin), { workers });
    expect(await status(gw)).toBe('MISS number 1');
    for (let round = 0; round < 20; round++) expect(await status(gw)).toBe('HIT number 1');
    expect(origin.heard()).toEqual(['GET /a']);
  });
}

test('a stored response survives a reload', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin));
  expect(await status(gw)).toBe('MISS number 1');
  await gw.reload(`${cached(origin)} # changed`);
  expect(await status(gw)).toBe('HIT number 1');
});

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`a stored response survives the end of the process by ${signal}`, async (t) => {
    const origin = await startOrigin(t);
    const gw = await startGateway(t, cached(origin));
    expect(await status(gw)).toBe('MISS number 1');
    await stored(gw);
    await gw.stop(signal);
    const from = gw.errorLog().length;
    gw.start();
    await gw.waitForLog(/start worker processes/, from);
    expect(await status(gw)).toBe('HIT number 1');
  });
}

test('a response that its upstream breaks off is not stored', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin));
  origin.respond = (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=3600').setHeader('Content-Length', 200_000);
    response.write('x'.repeat(150_000), () => response.destroy());
  };
  for (let round = 0; round < 2; round++) await expect(gw.fetch('/a')).rejects.toThrow('aborted');
  expect(origin.heard()).toHaveLength(2);
  await expect.poll(() => filesOf(gw)).toEqual([]);
});

test('a large response is served from its file, whole and in part', async (t) => {
  const origin = await startOrigin(t);
  const gw = await startGateway(t, cached(origin));
  const body = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251)).toString('latin1');
  origin.respond = (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=3600').setHeader('Accept-Ranges', 'bytes');
    response.setHeader('Content-Length', body.length).end(Buffer.from(body, 'latin1'));
  };
  const whole = async (head = ''): Promise<string> =>
    gw.raw(`GET /a HTTP/1.1\r\nHost: a\r\n${head}Connection: close\r\n\r\n`);
  for (const cache of ['MISS', 'HIT', 'HIT']) {
    const response = await whole();
    expect(response).toMatch(new RegExp(`X-Cache: ${cache}`, 'i'));
    expect(response.endsWith(`\r\n\r\n${body}`)).toBe(true);
  }
  const part = await whole('Range: bytes=100000-200000\r\n');
  expect(part.endsWith(`\r\n\r\n${body.slice(100_000, 200_001)}`)).toBe(true);
});

const damages: readonly { it: string; damage: (path: string) => void; isForeign?: true }[] = [
  // The loader may take it for the file of another program, which is overwritten without a log line.
  { it: 'its first byte', damage: (path) => flip(path, 0), isForeign: true },
  { it: 'its preamble', damage: (path) => flip(path, 20) },
  { it: 'its times', damage: (path) => flip(path, 70) },
  { it: 'its description', damage: (path) => flip(path, 200) },
  { it: 'its body', damage: (path) => flip(path, -3) },
  { it: 'its length', damage: (path) => truncateSync(path, statSync(path).size - 1) },
  { it: 'all of it', damage: (path) => writeFileSync(path, '') },
];

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  const index = at < 0 ? bytes.length + at : at;
  bytes[index] = (bytes[index] as number) ^ 4;
  writeFileSync(path, bytes);
}

/** Has the response to a path stored. Returns its file, which is none of those before. */
async function newEntry(gw: Gateway, path: string, before: readonly string[]): Promise<string> {
  expect(await status(gw, path)).toBe('MISS number 1');
  await vi.waitFor(() => expect(filesOf(gw)).toHaveLength(before.length + 1), 15_000);
  return filesOf(gw).find((file) => !before.includes(file)) as string;
}

describe('a stored response is fetched again if', () => {
  const file = wholeFile();
  const pathOf = (nth: number): string => `/damaged-${nth}`;
  const entries: string[] = [];
  let gw: Gateway;

  beforeAll(async () => {
    const origin = await startOrigin(file);
    origin.respond = numberedByPath();
    gw = await startGateway(file, cached(origin));
    for (const [nth] of damages.entries()) entries.push(await newEntry(gw, pathOf(nth), entries));
    await gw.stop();
    for (const [nth, { damage }] of damages.entries()) damage(entries[nth] as string);
    const from = gw.errorLog().length;
    gw.start();
    await gw.waitForLog(/start worker processes/, from);
  });

  for (const [nth, { it, isForeign }] of damages.entries()) {
    test(`${it} was damaged`, async () => {
      expect(await status(gw, pathOf(nth))).toBe('MISS number 2');
      expect(await status(gw, pathOf(nth))).toBe('HIT number 2');
      const entry = basename(entries[nth] as string);
      if (!isForeign) await gw.waitForLog(new RegExp(`\\[crit\\].*${entry}.*damaged`));
    });
  }
});

/** Each path has numbers of its own. */
function numberedByPath(): Origin['respond'] {
  const counts = new Map<string, number>();
  return ({ url = '' }, response) => {
    const count = (counts.get(url) ?? 0) + 1;
    counts.set(url, count);
    response.setHeader('Cache-Control', 'max-age=3600').end(`number ${count}`);
  };
}
