import { expect, test } from 'vitest';
import { StatementNames } from '../../../src/modules/dbrest/session/extended-query.ts';

const namesOf = (statements: number, characters = 1_000, isPooled = false): StatementNames =>
  new StatementNames({ statements, characters, isPooled });

test('a name is made of the text, and differs between sessions', () => {
  const [one, other] = [namesOf(1), namesOf(1)];
  const first = one.use('select 1').name;
  one.use('select 2');
  expect(one.use('select 1').name).toBe(first);
  expect(other.use('select 1').name).not.toBe(first);
});

test('behind a pooler, what a batch has found missing is parsed again, and nothing is taken for parsed', () => {
  const names = namesOf(10, 1_000, true);
  const [first, second] = [names.use('select 1'), names.use('select 2')];
  names.parseComplete();
  names.parseComplete();
  names.forget(['select 1']);
  expect(names.evicted()).toEqual([]);
  expect(names.use('select 1')).toEqual(first);
  expect(names.use('select 2')).toEqual({ ...second, parse: false });
  expect(names.useParsed('select 2')).toEqual(second);
});

test('a statement for one use has no name, and is parsed each time', () => {
  const names = namesOf(1);
  const known = names.use('select 1');
  expect([names.useOnce('select 1'), names.useOnce('select 1')]).toEqual(
    Array(2).fill({ name: '', parse: true }),
  );
  for (let i = 0; i < 3; i++) names.parseComplete();
  names.batchEnded();
  expect(names.use('select 1')).toEqual({ ...known, parse: false });
});

test('a statement is parsed once and keeps its name', () => {
  const names = namesOf(10);
  const first = names.use('select 1');
  names.parseComplete();
  names.batchEnded();
  expect(first.parse).toBe(true);
  expect(names.use('select 1')).toEqual({ name: first.name, parse: false });
});

test('statements after an error are parsed again', () => {
  const names = namesOf(10);
  names.use('select 1');
  names.use('select 2');
  names.parseComplete();
  names.batchEnded();
  expect(names.use('select 1').parse).toBe(false);
  expect(names.use('select 2').parse).toBe(true);
});

test('a statement that must be there is parsed again until it is known to be', () => {
  const names = namesOf(10);
  const first = names.use('select 1');
  names.batchSent();
  const second = names.useParsed('select 1');
  names.batchSent();
  expect(second).toEqual(first);
  // It must not be closed behind that.
  expect(names.evicted()).toEqual([]);
  // The first batch failed.
  names.batchEnded();
  expect(names.use('select 1')).toEqual({ name: second.name, parse: false });
  names.parseComplete();
  names.batchEnded();
  expect(names.useParsed('select 1')).toEqual({ name: second.name, parse: false });
});

test('the least recently used statement is closed first', () => {
  const names = namesOf(2);
  const run = (text: string) => {
    const used = names.use(text);
    const closed = names.evicted();
    if (used.parse) names.parseComplete();
    names.batchEnded();
    return { ...used, closed };
  };
  const a = run('a');
  const b = run('b');
  run('a');
  expect(run('c').closed).toEqual([b.name]);
  expect(run('a').name).toBe(a.name);
  expect(run('b').parse).toBe(true);
});

test('long statements leave less room for others, and are closed like them', () => {
  const names = namesOf(100, 1_000);
  const run = (text: string) => {
    const { name } = names.use(text);
    names.parseComplete();
    names.batchSent();
    names.batchEnded();
    return { name, closed: names.evicted() };
  };
  const long = ['a', 'b', 'c'].map((letter) => run(letter.repeat(400)));
  expect(long.map(({ closed }) => closed)).toEqual([[], [], [long[0]?.name]]);
  const tooLong = run('d'.repeat(5_000));
  expect(new Set(tooLong.closed)).toEqual(new Set([long[1]?.name, long[2]?.name]));
  expect(run('e').closed).toEqual([tooLong.name]);
});
