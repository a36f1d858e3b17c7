import { expect, test } from 'vitest';
import type { Build } from '../../../src/contract/index.ts';
import { Exchange, type RequestFacts, type ResponseRules, type Wire } from '../../../src/http/index.ts';
import type { KvConfig } from '../../../src/modules/kv/directives.ts';
import { compileCommand } from '../../../src/modules/kv/handler.ts';
import type { Done, Store } from '../../../src/modules/kv/commands.ts';
import { SETTINGS } from './stores.ts';
import { aloneCounters } from '../../harness/counters.ts';

/** An exchange that cannot keep state, which fails a handler in the store's callback; and what its client got. */
function brokenExchange() {
  const answers: unknown[] = [];
  const warnings: string[] = [];
  const rules = {
    filters: [],
    bodyFilters: [],
    logs: [],
    serverToken: '',
    warn: (message: string) => void warnings.push(message),
  };
  const request = { method: 'GET', uri: '/k', args: '' };
  const wire = { write: () => void answers.push(x.status), close: () => void answers.push('abort') };
  const x: Exchange = new Exchange(request as RequestFacts, {
    wire: wire as unknown as Wire,
    rules: rules as unknown as ResponseRules,
  });
  x.setState = () => {
    throw new Error('no room');
  };
  return { x, answers, warnings };
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
  const { x, answers, warnings } = brokenExchange();
  expect(handler(x)).toBeUndefined();
  expect(answers).toEqual([]);
  done?.(undefined, Buffer.from('v'));
  expect(answers).toEqual([500]);
  expect(warnings.join('\n')).toMatch(/^unexpected failure: Error: no room/);
});
