import { expect, test } from 'vitest';
import type { Build } from '../../../src/contract/index.ts';
import type { KvConfig } from '../../../src/modules/kv/directives.ts';
import { compileCommand } from '../../../src/modules/kv/handler.ts';
import type { Done, Store } from '../../../src/modules/kv/commands.ts';
import { SETTINGS } from './stores.ts';
import { aloneCounters } from '../../harness/counters.ts';
import { TestWire } from '../../harness/test-wire.ts';

const config: KvConfig = {
  ...SETTINGS,
  sslVerify: true,
  sslServerName: true,
  sslProtocols: [],
  sslCiphers: '',
  command: 'get',
  cache: { parts: ['off'] },
  cacheMinUses: 1,
  cacheLock: false,
  cacheLockTimeoutMs: 5_000,
  cacheLockAgeMs: 5_000,
  cacheBackgroundUpdate: false,
};

test('the response is 500 when the callback of the store throws', () => {
  let done: Done | undefined;
  const store: Store = {
    label: 'store',
    identity: 'store',
    versions: undefined,
    state: 'connected',
    counts: () => false,
    run: (_name, _args, then) => void (done = then),
    close: () => Promise.resolve(),
  };
  const build = { uses: () => true, metrics: aloneCounters() } as unknown as Build;
  const handler = compileCommand(
    config,
    { source: () => store, caching: undefined, changes: () => 'untracked' },
    build,
  );
  const log: string[] = [];
  const wire = new TestWire('GET /k', { log: (line) => void log.push(line) });
  wire.x.setState = () => {
    throw new Error('no room');
  };
  expect(handler(wire.x)).toBeUndefined();
  expect(wire.sent).toBeUndefined();
  done?.(undefined, Buffer.from('v'));
  expect(wire.sent?.status).toBe(500);
  expect(log.join('\n')).toMatch(/^\[error\] unexpected failure: Error: no room/);
});
