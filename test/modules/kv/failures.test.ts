import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { StoreSettings } from '../../../src/modules/kv/directives.ts';
import type { Store } from '../../../src/modules/kv/commands.ts';
import { freePort } from '../../harness/ports.ts';
import { redis } from '../../harness/redis.ts';
import { outcomeOf, memoryLog, redisStore } from './stores.ts';

const unreachable = { fault: 'connection_failed' };
const late = { fault: 'timeout' };

function opened(port: number, settings: Partial<StoreSettings> = {}, log = memoryLog()): Store {
  const store = redisStore(port, { settings, log });
  onTestFinished(() => store.close());
  return store;
}

/** A peer that answers PING and then misbehaves: `respond` handles every other command. */
async function fakePeer(
  respond: (socket: Socket, command: string) => void,
  greet = () => '',
): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.write(greet());
    socket.on('data', (data) => {
      for (const command of data.toString().split(/(?=\*\d+\r\n\$)/)) {
        if (command.includes('ping')) socket.write('+PONG\r\n');
        else respond(socket, command);
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

const untilConnected = (store: Store) =>
  vi.waitFor(async () => expect(await outcomeOf(store, 'ping')).toEqual({ reply: 'PONG' }), 10_000);

test('fails at once where nothing listens', async () => {
  const store = opened(await freePort());
  expect(await outcomeOf(store, 'get', 'k')).toEqual(unreachable);
  expect(store.state).toBe('error');
  expect(await outcomeOf(store, 'get', 'k')).toEqual(unreachable);
});

test('goes through degraded and error and back to connected', async () => {
  const server = await redis();
  const store = opened(server.port);
  expect(await outcomeOf(store, 'hset', 'hash', 'f', 'v')).toEqual({ reply: '1' });
  expect(store.state).toBe('connected');
  expect(await outcomeOf(store, 'incr', 'hash')).toEqual({ fault: 'kv_error' });
  expect(store.state).toBe('degraded');
  expect(await outcomeOf(store, 'exists', 'hash')).toEqual({ reply: '1' });
  expect(store.state).toBe('connected');
  await server.stop('SIGKILL');
  await vi.waitFor(() => expect(store.state).toBe('error'));
  expect(await outcomeOf(store, 'get', 'k')).toEqual(unreachable);
  await server.start();
  await untilConnected(store);
  expect(store.state).toBe('connected');
});

test('every command gets an outcome when the server is killed under load, and no write is repeated', async () => {
  const server = await redis();
  const store = opened(server.port, { connections: 2 });
  await untilConnected(store);
  const responses = Array.from({ length: 2_000 }, () => outcomeOf(store, 'incr', 'killed'));
  await responses[0];
  await server.stop('SIGKILL');
  const faults = (await Promise.all(responses)).filter((one) => 'fault' in one);
  for (const one of faults) expect(one).toEqual(unreachable);
  await server.start();
  await untilConnected(store);
  // The server comes back empty: a value in the counter would mean that a write was sent twice.
  expect(await outcomeOf(store, 'get', 'killed')).toEqual({ reply: null });
});

test('commands time out on a frozen server, then fail at once until it replies again', async () => {
  const server = await redis();
  const log = memoryLog();
  const store = opened(server.port, { timeoutMs: 100, connectTimeoutMs: 100 }, log);
  await untilConnected(store);
  server.signal('SIGSTOP');
  const responses = await Promise.all(Array.from({ length: 3 }, () => outcomeOf(store, 'incr', 'frozen')));
  expect(responses).toEqual([late, late, late]);
  expect(store.state).toBe('error');
  expect(await outcomeOf(store, 'get', 'k')).toEqual(unreachable);
  await vi.waitFor(() =>
    expect(log.lines.join('\n')).toContain('it accepts connections but does not answer'),
  );
  expect(await outcomeOf(store, 'get', 'k')).toEqual(unreachable);
  server.signal('SIGCONT');
  await untilConnected(store);
  expect(await outcomeOf(store, 'set', 'k', 'v')).toEqual({ reply: 'OK' });
  expect(await outcomeOf(store, 'get', 'k')).toEqual({ reply: 'v' });
});

test('stays in step with a server that was only late', async () => {
  const port = await fakePeer((socket, command) => {
    if (command.includes('slow')) setTimeout(() => socket.write('$4\r\nslow\r\n'), 200);
    else socket.write('$4\r\nfast\r\n');
  });
  const store = opened(port, { timeoutMs: 100 });
  await untilConnected(store);
  expect(await outcomeOf(store, 'get', 'slow')).toEqual(late);
  expect(store.state).toBe('degraded');
  await vi.waitFor(async () => expect(await outcomeOf(store, 'get', 'other')).toEqual({ reply: 'fast' }));
  expect(store.state).toBe('connected');
});

const garbage = [
  { it: 'HTTP', says: 'HTTP/1.1 400 Bad Request\r\n\r\n' },
  { it: 'binary noise', says: '\0\x01\x02\xff\r\n' },
  { it: 'an integer for a string', says: ':5\r\n' },
  { it: 'a list for a string', says: '*1\r\n$1\r\na\r\n' },
  { it: 'nothing but a closed connection', says: undefined },
];
test.each(garbage)('takes $it for a broken connection', async ({ says }) => {
  const port = await fakePeer((socket) =>
    says === undefined ? socket.destroy() : socket.write(says, 'latin1'),
  );
  const store = opened(port);
  expect(await outcomeOf(store, 'get', 'k')).toEqual(unreachable);
});

test('after garbage all commands in flight fail, and a new connection is in step again', async () => {
  let said = 0;
  const port = await fakePeer((socket) => socket.write(++said === 1 ? '$1\r\nabc\r\n' : '$4\r\nfine\r\n'));
  const store = opened(port);
  await untilConnected(store);
  const responses = await Promise.all(['a', 'b', 'c'].map((key) => outcomeOf(store, 'get', key)));
  expect(responses).toEqual([unreachable, unreachable, unreachable]);
  await untilConnected(store);
  expect(await outcomeOf(store, 'get', 'k')).toEqual({ reply: 'fine' });
});

test('does not accept other characters as the digits of an integer', async () => {
  const store = opened(await fakePeer((socket) => socket.write(':1,"x":2\r\n')));
  expect(await outcomeOf(store, 'incr', 'k')).toEqual(unreachable);
});

test('does not connect to a peer that speaks first', async () => {
  const store = opened(
    await fakePeer(
      () => undefined,
      () => '+OK POP3 ready\r\n',
    ),
  );
  expect(await outcomeOf(store, 'get', 'k')).toEqual(unreachable);
  expect(store.state).toBe('error');
});

test('closes a connection on which an unexpected reply arrives', async () => {
  const log = memoryLog();
  const port = await fakePeer((socket) => socket.write('$1\r\na\r\n$6\r\nsecret\r\n'));
  const store = opened(port, {}, log);
  await untilConnected(store);
  expect(await outcomeOf(store, 'get', 'k')).toEqual({ reply: 'a' });
  await vi.waitFor(() => expect(log.lines.join('\n')).toContain('a reply that nobody asked for'));
  expect(log.lines.join('\n')).not.toContain('secret');
});

test('closes a connection whose reply never ends', async () => {
  const port = await fakePeer((socket) => {
    socket.write('$500000000\r\n');
    const pour = (): void => void (socket.writable && socket.write('x'.repeat(65_536), pour));
    pour();
  });
  const log = memoryLog();
  const store = opened(port, { maxValueBytes: 1_000 }, log);
  expect(await outcomeOf(store, 'get', 'k')).toEqual(unreachable);
  expect(log.lines.join('\n')).toContain('a reply exceeds');
});

test('refuses more than 10000 commands at a time', async () => {
  const port = await fakePeer(() => undefined);
  const store = opened(port, { timeoutMs: 300 });
  await untilConnected(store);
  const waiting = Array.from({ length: 10_000 }, () => outcomeOf(store, 'get', 'k'));
  expect(await outcomeOf(store, 'get', 'k')).toEqual(unreachable);
  const responses = await Promise.all(waiting);
  expect(responses[0]).toEqual(late);
  expect(responses.every((one) => 'fault' in one)).toBe(true);
});

test('has one command in flight per connection without pipelining', async () => {
  let inFlight = 0;
  let most = 0;
  const port = await fakePeer((socket) => {
    most = Math.max(most, ++inFlight);
    setImmediate(() => {
      inFlight--;
      socket.write(':1\r\n');
    });
  });
  const store = opened(port, { pipelining: false, connections: 3 });
  await untilConnected(store);
  const responses = await Promise.all(Array.from({ length: 200 }, () => outcomeOf(store, 'incr', 'k')));
  expect(responses).toEqual(Array.from({ length: 200 }, () => ({ reply: '1' })));
  expect(most).toBeLessThanOrEqual(3);
});

test('logs a store that is down once, however often it tries', async () => {
  const log = memoryLog();
  let attempts = 0;
  const port = await fakePeer(
    () => undefined,
    () => {
      attempts++;
      return '-ERR max number of clients reached\r\n';
    },
  );
  const store = opened(port, {}, log);
  await vi.waitFor(() => expect(attempts).toBeGreaterThan(3), 5_000);
  expect(await outcomeOf(store, 'get', 'k')).toEqual(unreachable);
  expect(log.lines).toEqual([
    `error kv: no connection to 127.0.0.1:${port}: ERR max number of clients reached`,
  ]);
});

const logins = [
  { it: 'a wrong password', login: { password: 'hunter2-wrong' }, outcome: unreachable },
  { it: 'no password', login: {}, outcome: { fault: 'kv_error' } },
  { it: 'a database that does not exist', login: { password: 'hunter2', db: 99 }, outcome: unreachable },
  { it: 'the password', login: { password: 'hunter2', db: 3 }, outcome: { reply: 'OK' } },
];
test('a store without a password accepts any login from its URL', async () => {
  const { port } = await redis();
  const store = redisStore(port, { login: { password: 'hunter2', db: 1 } });
  onTestFinished(() => store.close());
  expect(await outcomeOf(store, 'set', 'k', 'v')).toEqual({ reply: 'OK' });
});

test('name, password and database are sent before the first command', async () => {
  const told: string[][] = [];
  const port = await fakePeer((socket, command) => {
    told.push(command.split('\r\n').filter((line) => /^\w/.test(line)));
    socket.write('+OK\r\n');
  });
  const store = redisStore(port, { login: { username: 'ann', password: 'secret', db: 2 } });
  onTestFinished(() => store.close());
  await untilConnected(store);
  expect(told).toEqual([
    ['auth', 'ann', 'secret'],
    ['select', '2'],
  ]);
});

test.each(logins)('a login with $it ends as the store decides', async ({ login, outcome }) => {
  const { port } = await redis('--requirepass', 'hunter2');
  const log = memoryLog();
  const store = redisStore(port, { log, login });
  onTestFinished(() => store.close());
  expect(await outcomeOf(store, 'set', 'k', 'v')).toEqual(outcome);
  expect(log.lines.join('\n')).not.toContain('hunter2');
});
