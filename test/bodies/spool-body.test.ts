import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BodyExchange, spoolBody, spooledBody, type SpooledBody } from '../../src/bodies/spool.ts';
import type { Owner } from '../harness/owner.ts';

/** A client that sends these pieces, each after the last one was taken; `left`: and leaves before the end. */
function client(
  pieces: readonly Buffer[],
  { left = false } = {},
): BodyExchange & { state<T>(key: symbol): T | undefined } {
  const states = new Map<symbol, unknown>();
  return {
    done: false,
    async readPieces(receive) {
      for (const piece of pieces) await receive(piece);
      return !left;
    },
    setState: (key, value) => {
      states.set(key, value);
    },
    state: <T>(key: symbol) => states.get(key) as T | undefined,
  };
}

function directory(t: Owner): string {
  const path = mkdtempSync(join(tmpdir(), 'gw-spool-'));
  t.onTestFinished(async () => rmSync(path, { recursive: true, force: true }));
  return join(path, 'made when needed');
}

const rules = (path: string) =>
  ({ bodyBufferBytes: 10, bodyTempPath: { path, levels: [] }, bodyInFileOnly: 'off' }) as const;

async function read(body: SpooledBody | undefined): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of body?.pieces() ?? []) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const files = (path: string): string[] => {
  try {
    return readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => /\d{10}$/.test(name));
  } catch {
    return [];
  }
};

test('a body up to the buffer size stays in memory and no file is made', async (t) => {
  const path = directory(t);
  const x = client([Buffer.from('01234'), Buffer.from('56789')]);
  const body = await spoolBody(x, rules(path));
  expect(body?.bytes?.toString()).toBe('0123456789');
  expect(body?.length).toBe(10);
  expect(await read(body)).toBe('0123456789');
  expect(files(path)).toEqual([]);
  expect(spooledBody(x)).toBe(body);
});

test('a larger body can be read several times from a file without a name', async (t) => {
  const path = directory(t);
  const body = await spoolBody(client([Buffer.from('0123456789'), Buffer.from('x')]), rules(path));
  expect(body?.bytes).toBeUndefined();
  expect(body?.path).toBeUndefined();
  expect(body?.length).toBe(11);
  expect(files(path)).toEqual([]);
  expect(await read(body)).toBe('0123456789x');
  expect(await read(body)).toBe('0123456789x');
  await body?.close();
});

test('the body that is read is the body that came, however it is divided', async (t) => {
  const path = directory(t);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 }), async (sent) => {
      const pieces = sent.map((bytes) => Buffer.from(bytes));
      const body = await spoolBody(client(pieces), rules(path));
      const whole = Buffer.concat(pieces).toString();
      expect([await read(body), await read(body), body?.length]).toEqual([
        whole,
        whole,
        Buffer.concat(pieces).byteLength,
      ]);
      await body?.close();
    }),
    { numRuns: 50 },
  );
});

test('a named file is readable by this user alone and lies below the digits at the end of its name', async (t) => {
  const path = directory(t);
  const named = { ...rules(path), bodyTempPath: { path, levels: [1, 2] }, bodyInFileOnly: 'on' } as const;
  const body = await spoolBody(client([Buffer.from('small')]), named);
  const file = body?.path ?? '';
  const [, digits = ''] = /(\d{3})$/.exec(file) ?? [];
  expect(file).toBe(join(path, digits.slice(2), digits.slice(0, 2), file.slice(-10)));
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await body?.close();
  expect(readFileSync(file, 'utf8')).toBe('small');
});

test('a file to be cleaned is removed with its request', async (t) => {
  const path = directory(t);
  const body = await spoolBody(client([Buffer.from('small')]), { ...rules(path), bodyInFileOnly: 'clean' });
  expect(files(path)).toHaveLength(1);
  await body?.close();
  expect(files(path)).toEqual([]);
});

test('a client that leaves leaves no file behind', async (t) => {
  const path = directory(t);
  const x = client([Buffer.from('0123456789'), Buffer.from('more')], { left: true });
  expect(await spoolBody(x, { ...rules(path), bodyInFileOnly: 'on' })).toBeUndefined();
  expect(files(path)).toEqual([]);
});

test('a client that leaves while its file is being made leaves none behind', async (t) => {
  const path = directory(t);
  const taken: unknown[] = [];
  const x: BodyExchange = {
    done: false,
    readPieces(receive) {
      taken.push(receive(Buffer.from('0123456789')));
      return Promise.resolve(false);
    },
    setState: () => undefined,
  };
  expect(await spoolBody(x, { ...rules(path), bodyInFileOnly: 'on' })).toBeUndefined();
  // The write that was still to come finds the file closed.
  await Promise.allSettled(taken);
  expect(files(path)).toEqual([]);
});

/** The number of open files below a directory, also of those that have no name any more. */
function openFiles(path: string): number {
  return readdirSync('/proc/self/fd').filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).startsWith(path);
    } catch {
      return false;
    }
  }).length;
}

test('a client that leaves during the last write leaves no open file behind', async (t) => {
  const path = directory(t);
  let isGone = false;
  const x: BodyExchange = {
    get done() {
      return isGone;
    },
    async readPieces(receive) {
      await receive(Buffer.alloc(100_000));
      queueMicrotask(() => (isGone = true));
      return true;
    },
    setState: () => expect.unreachable('the request has ended'),
  };
  for (const bodyInFileOnly of ['clean', 'off'] as const) {
    isGone = false;
    expect(await spoolBody(x, { ...rules(path), bodyInFileOnly })).toBeUndefined();
  }
  expect([files(path), openFiles(path)]).toEqual([[], 0]);
});

test('many slow bodies are written as soon as they exceed their buffers', async (t) => {
  const path = directory(t);
  let leave: (() => void) | undefined;
  const left = new Promise<boolean>((resolve) => (leave = () => resolve(false)));
  const slow: BodyExchange = {
    done: false,
    async readPieces(receive) {
      await receive(Buffer.alloc(100_000));
      return left;
    },
    setState: () => undefined,
  };
  // 16 MB may wait for all of them: 167 bodies; the others are in files.
  const bodies = Array.from({ length: 250 }, () => spoolBody(slow, rules(path)));
  await expect.poll(() => openFiles(path)).toBe(83);
  leave?.();
  expect(new Set(await Promise.all(bodies))).toEqual(new Set([undefined]));
  expect(openFiles(path)).toBe(0);
});

test('a body of single bytes is joined on its way', async (t) => {
  const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, index) => index % 251));
  const single = Array.from(bytes, (byte) => Buffer.of(byte));
  const body = await spoolBody(client(single), rules(directory(t)));
  expect(await read(body)).toBe(bytes.toString());
  await body?.close();
});

test('reading ends when the body is closed', async (t) => {
  const body = await spoolBody(client([Buffer.alloc(200_000)]), rules(directory(t)));
  let bytes = 0;
  for await (const piece of body?.pieces() ?? []) {
    bytes += piece.byteLength;
    await body?.close();
  }
  expect(bytes).toBe(131_072);
});

test('a directory that cannot be written is a fault in the words of nginx', async () => {
  const path = '/etc/passwd/below';
  const wanted = spoolBody(client([Buffer.alloc(20)]), rules(path));
  await expect(wanted).rejects.toMatchObject({
    status: 500,
    message: expect.stringMatching(
      /^open\(\) "\/etc\/passwd\/below\/\d{10}" failed \(20: Not a directory\)$/,
    ),
  });
});
