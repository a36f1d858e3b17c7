import { type TestContext, expect, test } from 'vitest';
import { openStatementLists, type StatementList, type StatementView } from '../../src/contract/index.ts';

const view = (sql: string, more: Partial<StatementView> = {}): StatementView => ({
  database: 'd',
  location: '/',
  sql,
  role: 'anon',
  calls: 1,
  errors: 0,
  rows: 2,
  totalMs: 10,
  maxMs: 10,
  ...more,
});

const listOf = (...statements: StatementView[]): StatementList => ({
  statements,
  left: { statements: 1, calls: 2, totalMs: 3 },
});

/** The lists of a worker, which all threads of the process can ask. */
function worker(t: TestContext, workerId: number, ...lists: readonly StatementList[]) {
  const share = <T>(_key: string, open: () => T, close: (opened: T) => void | Promise<void>): T => {
    const opened = open();
    t.onTestFinished(() => close(opened));
    return opened;
  };
  const opened = openStatementLists({ share, workerId });
  for (const list of lists) opened.add(() => list);
  return opened;
}

test('the statements of all workers are added up, the slowest in total first', async (t) => {
  const first = worker(t, 1, listOf(view('a'), view('b', { totalMs: 15 })));
  worker(t, 2, listOf(view('a', { totalMs: 30, maxMs: 20, errors: 1, role: 'web_user' })), listOf(view('c')));
  expect(await first.all(2)).toEqual({
    answered: 2,
    statements: [
      view('a', { calls: 2, errors: 1, rows: 4, totalMs: 40, maxMs: 20, role: undefined }),
      view('b', { totalMs: 15 }),
      view('c'),
    ],
    left: { statements: 3, calls: 6, totalMs: 9 },
  });
});

test('a worker that does not answer in time is left out', async (t) => {
  const first = worker(t, 1, listOf(view('a')));
  worker(t, 2, listOf(view('a')));
  expect(await first.all(3)).toMatchObject({ answered: 2, statements: [{ calls: 2 }] });
});

test('those who ask at the same time get the same report, and later ones a new one', async (t) => {
  const first = worker(t, 1, listOf(view('a')));
  const [one, other] = [first.all(1), first.all(1)];
  expect(await one).toBe(await other);
  const remove = first.add(() => listOf(view('b')));
  expect((await first.all(1)).statements).toHaveLength(2);
  remove();
  expect((await first.all(1)).statements).toHaveLength(1);
});
