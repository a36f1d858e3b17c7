import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readlinkSync, rmSync } from 'node:fs';
import net, { type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { listeningSockets, listensAt } from '../../src/system/index.ts';
import type { Owner } from '../harness/owner.ts';

interface HasDescriptor {
  readonly _handle: { readonly fd: number };
}

/** A short path, because a line is to fit into the 107 bytes of another one. */
function directory(t: Owner): string {
  const dir = mkdtempSync(join(tmpdir(), 'l'));
  t.onTestFinished(async () => rmSync(dir, { recursive: true }));
  return dir;
}

async function listening(t: Owner, place: net.ListenOptions): Promise<Server> {
  const server = net.createServer().listen(place);
  await once(server, 'listening');
  t.onTestFinished(async () => void server.close());
  return server;
}

function descriptorOf(of: Server | Socket): number {
  return (of as unknown as HasDescriptor)._handle.fd;
}

function inetAddress(server: Server): { kind: 'inet'; host: string; port: number } {
  return { kind: 'inet', host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

/** Binds a Unix socket whose path has a line that claims the socket with this descriptor for a place. */
async function forge(t: Owner, fd: number, place: string): Promise<void> {
  const [, inode] = /\[(\d+)\]/.exec(readlinkSync(`/proc/self/fd/${fd}`)) ?? [];
  const path = join(directory(t), `x\n0: 00000002 00000000 00010000 0001 01 ${inode} ${place}`);
  mkdirSync(dirname(path), { recursive: true });
  await listening(t, { path });
}

test('a path with a line break moves no inet socket to another address', async (t) => {
  const [one, other] = [
    await listening(t, { host: '127.0.0.1', port: 0 }),
    await listening(t, { host: '127.0.0.1', port: 0 }),
  ];
  const address = inetAddress(other);
  for (const place of [`127.0.0.1 ${address.port}`, '/run/a']) await forge(t, descriptorOf(one), place);
  const found = listeningSockets([
    { key: 'one', address: inetAddress(one) },
    { key: 'other', address },
    { key: 'unix', address: { kind: 'unix', path: '/run/a' } },
  ]);
  expect(found).toEqual(
    expect.arrayContaining([
      { key: 'one', fd: descriptorOf(one) },
      { key: 'other', fd: descriptorOf(other) },
    ]),
  );
  expect(found).toHaveLength(2);
  expect(listensAt(descriptorOf(one), address)).toBe(false);
  expect(listensAt(descriptorOf(one), { kind: 'unix', path: '/run/a' })).toBe(false);
});

test('a path with a line break moves no Unix socket to another path', async (t) => {
  const path = join(directory(t), 'a');
  const server = await listening(t, { path });
  const claimed = { kind: 'unix', path: '/run/a' } as const;
  expect(listensAt(descriptorOf(server), { kind: 'unix', path })).toBe(true);
  await forge(t, descriptorOf(server), claimed.path);
  expect(listensAt(descriptorOf(server), claimed)).toBe(false);
  // Which of the lines is forged cannot be told.
  expect(listeningSockets([{ key: 'a', address: { kind: 'unix', path } }])).toEqual([]);
});

test('a path with a line break makes no connection a listening socket', async (t) => {
  const claimed = { kind: 'unix', path: '/run/a' } as const;
  for (const place of [{ host: '127.0.0.1', port: 0 }, { path: join(directory(t), 'a') }]) {
    const server = await listening(t, place);
    const to = 'path' in place ? place : { port: inetAddress(server).port };
    const client = net.connect(to);
    await once(client, 'connect');
    t.onTestFinished(async () => void client.destroy());
    await forge(t, descriptorOf(client), claimed.path);
    expect(listensAt(descriptorOf(client), claimed)).toBe(false);
  }
});
