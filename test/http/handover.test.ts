import { expect, test } from 'vitest';
import { Handover } from '../../src/http/index.ts';

const bytes = (text: string): Buffer => Buffer.from(text);

test('a piece counts as taken when the next one is requested', async () => {
  const handover = new Handover();
  const taken: string[] = [];
  const first = handover.give(bytes('a')).then(() => taken.push('a'));
  const second = handover.give(bytes('b')).then(() => taken.push('b'));
  handover.end();
  const pieces = handover.pieces();
  expect((await pieces.next()).value).toEqual(bytes('a'));
  expect(taken).toEqual([]);
  expect((await pieces.next()).value).toEqual(bytes('b'));
  await first;
  expect(taken).toEqual(['a']);
  expect(await pieces.next()).toEqual({ value: undefined, done: true });
  await second;
  expect(taken).toEqual(['a', 'b']);
});

test('a taker that waits gets the piece that comes', async () => {
  const handover = new Handover();
  const next = handover.pieces().next();
  void handover.give(bytes('late'));
  expect((await next).value).toEqual(bytes('late'));
});

test('a sender does not wait for a taker that has gone', async () => {
  const handover = new Handover();
  const waiting = handover.give(bytes('a'));
  handover.close();
  await Promise.all([waiting, handover.give(bytes('b'))]);
  expect(await handover.pieces().next()).toEqual({ value: undefined, done: true });
});
