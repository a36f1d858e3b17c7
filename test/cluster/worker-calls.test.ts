import { onTestFinished, expect, test } from 'vitest';
import { CallLost, WorkerCalls } from '../../src/cluster/subjects/worker-calls.ts';

let names = 0;
const freshName = (): string => `worker calls ${++names}`;

function open(name: string, workerId: number): WorkerCalls {
  const calls = new WorkerCalls(name, workerId);
  onTestFinished(() => calls.close());
  return calls;
}

/** A worker that runs the node and answers with what it was asked. */
function serve(name: string, workerId = 9): WorkerCalls {
  const calls = open(name, workerId);
  calls.answer('echo', (question) => Promise.resolve(question));
  calls.serve(true);
  return calls;
}

test('a question is answered by the worker that serves, also by this one', async () => {
  const name = freshName();
  const served = serve(name);
  const one = open(name, 1);
  expect(await one.ask('echo', 'a', 5_000)).toBe('a');
  expect(await Promise.all([one.ask('echo', 'b', 5_000), open(name, 2).ask('echo', 'c', 5_000)])).toEqual([
    'b',
    'c',
  ]);
  expect(await served.ask('echo', 'd', 5_000)).toBe('d');
  await expect(one.ask('nothing', 'e', 20)).rejects.toThrow(CallLost);
});

test('the calls that a worker opens after a reload, and those before, get their own answers', async () => {
  const name = freshName();
  serve(name);
  const before = open(name, 1);
  const behind = open(name, 1);
  const all = await Promise.all([before.ask('echo', 'before', 5_000), behind.ask('echo', 'behind', 5_000)]);
  expect(all).toEqual(['before', 'behind']);
});

test('a question on calls that are closed is lost', async () => {
  const one = open(freshName(), 1);
  one.close();
  await expect(one.ask('echo', 'a', 5_000)).rejects.toThrow(CallLost);
});
