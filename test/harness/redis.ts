import { tmpdir } from 'node:os';
import { Redis } from 'ioredis';
import { launch, type Launched } from './launch.ts';
import { freePort } from './ports.ts';
import { service } from './services.ts';

/** A real, empty Redis (or Valkey) on 127.0.0.1. */
export interface TestRedis {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  /** For the test's own commands; connects at the first one. */
  readonly client: Redis;
  /** Starts it again on the same port, empty. */
  start(): Promise<void>;
  /** Resolves when it is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** For example `SIGSTOP` and `SIGCONT`. */
  signal(signal: NodeJS.Signals): void;
}

const servers = new Map<string, Promise<TestRedis>>();

/** Ends the servers that a test file has started; called by `after-file.ts`. */
export async function stopRedis(): Promise<void> {
  const running = [...servers.values()];
  servers.clear();
  for (const server of running) {
    const { client, stop } = await server;
    client.disconnect();
    // SIGKILL also ends a server that a test has frozen.
    await stop('SIGKILL');
  }
}

/** The test file's server; it stops after the file. Other arguments (`'--requirepass', 'x'`) give another server. */
export function redis(...args: readonly string[]): Promise<TestRedis> {
  const key = args.join('\n');
  const server = servers.get(key) ?? open(args);
  servers.set(key, server);
  return server;
}

async function open(args: readonly string[]): Promise<TestRedis> {
  const { program } = await service('redis');
  const host = '127.0.0.1';
  const port = await freePort();
  const settings = ['--bind', host, '--port', String(port), '--save', '', '--appendonly', 'no'];
  // A replica writes what it receives into a file that each start reads. The port makes the file this server's own.
  settings.push(
    '--dbfilename',
    `gw-test-${port}.rdb`,
    '--repl-diskless-sync',
    'yes',
    '--repl-diskless-load',
    'swapdb',
  );
  let running: Launched | undefined;
  const start = async (): Promise<void> => {
    running = launch(program, [...settings, ...args], { cwd: tmpdir() });
    await running.waitForOutput(/Ready to accept connections/);
  };
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    await running?.stop(signal);
  };
  await start();
  const client = new Redis({ host, port, lazyConnect: true, retryStrategy: () => 50 });
  // The client keeps trying to connect, since tests stop the server on purpose.
  client.on('error', () => undefined);
  return {
    host,
    port,
    url: `redis://${host}:${port}`,
    client,
    start,
    stop,
    signal: (signal) => void (running && process.kill(running.pid, signal)),
  };
}
