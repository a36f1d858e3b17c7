import { expect, test } from 'vitest';
import type { Build } from '../../../src/contract/index.ts';
import { type AnswerRules, Exchange, type PortFacts, type RequestFacts } from '../../../src/http/index.ts';
import type { KvConfig } from '../../../src/modules/kv/directives.ts';
import { compileCommand } from '../../../src/modules/kv/handler.ts';
import type { Done, Store } from '../../../src/modules/kv/commands.ts';
import { SETTINGS } from './stores.ts';
import { aloneCounters } from '../../harness/counters.ts';

/** An exchange that cannot keep state, which fails a handler in the store's callback. */
class BrokenExchange extends Exchange {
  readonly headers: readonly string[] = [];
  readonly peerAddress = '';
  readonly peerPort = 0;
  readonly requestLength = 0;
  readonly answers: unknown[] = [];
  readonly warnings: string[];

  constructor(warnings: string[] = []) {
    const rules = {
      filters: [],
      bodyFilters: [],
      logs: [],
      serverToken: '',
      warn: (message: string) => void warnings.push(message),
    };
    const request = { method: 'GET', uri: '/k', args: '' };
    super(request as unknown as RequestFacts, {} as PortFacts, rules as unknown as AnswerRules);
    this.warnings = warnings;
  }

  override setState(): void {
    throw new Error('no room');
  }

  header = () => undefined;
  readBody = () => Promise.resolve(undefined);
  readPieces = () => Promise.resolve(false);
  abort = (): void => void this.answers.push('abort');
  onAbort = () => undefined;
  protected writeAnswer(status: number): void {
    this.answers.push(status);
  }
  protected openStream = () => undefined;
}

test('answers 500 when answering fails in the callback of the store', () => {
  let done: Done | undefined;
  const store: Store = {
    label: 'store',
    state: 'connected',
    run: (_name, _args, then) => void (done = then),
    close: () => Promise.resolve(),
  };
  const config: KvConfig = { ...SETTINGS, command: 'get' };
  const build = { uses: () => true, metrics: aloneCounters() } as unknown as Build;
  const handler = compileCommand(config, () => store, build);
  const x = new BrokenExchange();
  expect(handler(x)).toBeUndefined();
  expect(x.answers).toEqual([]);
  done?.(undefined, Buffer.from('v'));
  expect(x.answers).toEqual([500]);
  expect(x.warnings.join('\n')).toMatch(/^unexpected failure: Error: no room/);
});
