import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import type { ErrorLog } from '../../../src/log/index.ts';
import type { Login } from '../../../src/redis/index.ts';
import type { Bytes, CommandName, Reply, Store, StoreFault } from '../../../src/modules/kv/commands.ts';
import type { StoreSettings } from '../../../src/modules/kv/directives.ts';
import { EmbeddedStore } from '../../../src/modules/kv/embedded-store.ts';
import { RedisStore } from '../../../src/modules/kv/redis-store.ts';

export const SETTINGS: StoreSettings = {
  timeoutMs: 5_000,
  connectTimeoutMs: 1_000,
  connections: 1,
  pipelining: true,
  maxValueBytes: 1024 ** 2,
};

/** The outcome of a command: the code of a fault, or a reply with its bytes as latin1 text. */
export type Outcome = { readonly fault: StoreFault['code'] } | { readonly reply: unknown };

export function outcomeOf(store: Store, name: CommandName, ...args: readonly Bytes[]): Promise<Outcome> {
  return new Promise((resolve) => {
    store.run(name, args, (fault, reply) => resolve(fault ? { fault: fault.code } : { reply: plain(reply) }));
  });
}

function plain(reply: Reply): unknown {
  if (reply instanceof Buffer) return reply.toString('latin1');
  return Array.isArray(reply) ? reply.map((item: Buffer | null) => plain(item)) : reply;
}

/** An error log that keeps its lines. */
export function memoryLog(): ErrorLog & { readonly lines: string[] } {
  const lines: string[] = [];
  return { lines, write: (level, message) => void lines.push(`${level} ${message}`) };
}

export interface RedisStoreOptions {
  readonly settings?: Partial<StoreSettings>;
  readonly log?: ErrorLog;
  readonly login?: Login;
}

export function redisStore(
  port: number,
  { settings, log = memoryLog(), login }: RedisStoreOptions = {},
): RedisStore {
  return new RedisStore({
    label: `127.0.0.1:${port}`,
    identity: `127.0.0.1:${port}`,
    endpoints: [{ kind: 'inet', host: '127.0.0.1', port, ...login }],
    settings: { ...SETTINGS, ...settings },
    log,
  });
}

/** Opens an embedded store in a new directory, which is removed when the store is closed. */
export function embeddedStore(dir = mkdtempSync(join(tmpdir(), 'gw-kv-'))): EmbeddedStore {
  const store = new EmbeddedStore({ dir, settings: SETTINGS, open, sweeps: true, log: memoryLog() });
  const close = store.close.bind(store);
  store.close = async () => {
    await close();
    rmSync(dir, { recursive: true, force: true });
  };
  return store;
}
