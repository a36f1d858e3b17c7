import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test, type TestContext, vi } from 'vitest';
import type { StoreSettings } from '../../../src/modules/kv/directives.ts';
import type { Store } from '../../../src/modules/kv/commands.ts';
import { redis } from '../../harness/redis.ts';
import { outcomeOf, type Outcome, memoryLog, redisStore } from './stores.ts';

const unreachable = { fault: 'connection_failed' };

function opened(port: number, settings: Partial<StoreSettings> = {}, log = memoryLog()): Store {
  const store = redisStore(port, { settings, log });
  onTestFinished(() => store.close());
  return store;
}

const untilConnected = (store: Store) =>
  vi.waitFor(async () => expect(await outcomeOf(store, 'ping')).toEqual({ reply: 'PONG' }), 10_000);

/** A proxy between a store and Redis that can break all connections and hold back new ones. */
async function gate(t: TestContext): Promise<{ port: number; breakAll(): void; hold(): void; open(): void }> {
  const { port: redisPort } = await redis();
  const sockets = new Set<Socket>();
  const held: Socket[] = [];
  let holds = false;
  const through = (socket: Socket): void => {
    const inner = connect(redisPort, '127.0.0.1');
    sockets.add(inner);
    inner.on('error', () => undefined);
    socket.pipe(inner).pipe(socket);
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    if (holds) held.push(socket);
    else through(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  t.onTestFinished(() => {
    breakAll();
    server.close();
  });
  const open = (): void => {
    holds = false;
    for (const socket of held.splice(0)) through(socket);
  };
  return { port: (server.address() as AddressInfo).port, breakAll, hold: () => void (holds = true), open };
}

test('commands wait for a broken connection as long as a connect may take', async (t) => {
  const between = await gate(t);
  const store = opened(between.port);
  await untilConnected(store);
  between.hold();
  between.breakAll();
  await vi.waitFor(() => expect(store.state).toBe('error'));
  const responses = Array.from({ length: 100 }, (_, nth) => outcomeOf(store, 'set', `waits${nth}`, 'v'));
  between.open();
  for (const one of await Promise.all(responses)) expect(one).toEqual({ reply: 'OK' });
});

test('waiting commands fail when the connection is not back in time, and later commands fail at once', async (t) => {
  const between = await gate(t);
  const log = memoryLog();
  const store = opened(between.port, { connectTimeoutMs: 100 }, log);
  await untilConnected(store);
  between.hold();
  between.breakAll();
  await vi.waitFor(() => expect(store.state).toBe('error'));
  const waits = outcomeOf(store, 'get', 'k');
  expect(await waits).toEqual(unreachable);
  expect(log.lines.join('\n')).toMatch(/connection closed\n.*not back within 100 ms|does not answer/);
  expect(await outcomeOf(store, 'get', 'k')).toEqual(unreachable);
  between.open();
  await untilConnected(store);
});

test('a command that is not written when the connection breaks is sent once on the next one', async (t) => {
  const between = await gate(t);
  const store = opened(between.port);
  await untilConnected(store);
  between.breakAll();
  // One command in each turn, until the break is noticed: some are written to the broken connection, some are not.
  const responses: Promise<Outcome>[] = [];
  while (store.state !== 'error') {
    responses.push(outcomeOf(store, 'incr', 'once'));
    await new Promise((resolve) => setImmediate(resolve));
  }
  responses.push(outcomeOf(store, 'incr', 'once'));
  const good = (await Promise.all(responses)).filter((one) => 'reply' in one);
  expect(good.length).toBeGreaterThan(0);
  expect(await outcomeOf(store, 'get', 'once')).toEqual({ reply: String(good.length) });
});
