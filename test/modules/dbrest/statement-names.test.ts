import { expect, test } from 'vitest';
import { StatementNames } from '../../../src/modules/dbrest/session/batch.ts';

test('a statement is parsed once and keeps its name', () => {
  const names = new StatementNames(10);
  const first = names.use('select 1');
  names.parseComplete();
  names.batchEnded();
  expect(first.parse).toBe(true);
  expect(names.use('select 1')).toEqual({ name: first.name, parse: false });
});

test('statements after an error are parsed again', () => {
  const names = new StatementNames(10);
  names.use('select 1');
  names.use('select 2');
  names.parseComplete();
  names.batchEnded();
  expect(names.use('select 1').parse).toBe(false);
  expect(names.use('select 2').parse).toBe(true);
});

test('a statement that must be there is parsed again until it is known to be', () => {
  const names = new StatementNames(10);
  const first = names.use('select 1');
  names.batchSent();
  const second = names.useParsed('select 1');
  names.batchSent();
  expect(second.parse).toBe(true);
  expect(names.evict()).toBe(first.name);
  // The first batch failed.
  names.batchEnded();
  expect(names.use('select 1')).toEqual({ name: second.name, parse: false });
  names.parseComplete();
  names.batchEnded();
  expect(names.useParsed('select 1')).toEqual({ name: second.name, parse: false });
});

test('the least recently used statement is closed first', () => {
  const names = new StatementNames(2);
  const run = (text: string) => {
    const used = names.use(text);
    const closed = names.evict();
    if (used.parse) names.parseComplete();
    names.batchEnded();
    return { ...used, closed };
  };
  const a = run('a');
  const b = run('b');
  run('a');
  expect(run('c').closed).toBe(b.name);
  expect(run('a').name).toBe(a.name);
  expect(run('b').parse).toBe(true);
});
