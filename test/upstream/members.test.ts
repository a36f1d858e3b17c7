import { expect, test } from 'vitest';
import { type Member, readMembers, readSharedSet } from '../../src/upstream/index.ts';

const MANY = 60_000;

const addressOf = (n: number): string => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}:80`;
const peersText = (count: number, ...more: readonly string[]): string =>
  JSON.stringify({
    peers: [...Array.from({ length: count }, (_, n) => addressOf(n)), ...more].map((address) => ({
      address,
    })),
  });

// If each were compared with all others, this would take longer than a test may.
test('a list of very many peers is read', () => {
  const read: readonly Member[] = readMembers(peersText(MANY));
  expect(read).toHaveLength(MANY);
});

test('a list that has a peer twice is refused, at the first one', () => {
  expect(() => readMembers(peersText(3, addressOf(1), addressOf(0)))).toThrow(
    `"${addressOf(1)}" is given more than once`,
  );
});

test('a shared set with more peers than there is room for is refused before they are read', () => {
  const set = { node: 'n', sequence: 1, configured: '', draining: [], peers: [1, 2, 3] };
  expect(() => readSharedSet(JSON.stringify(set), 2)).toThrow('3 peers exceed the room for 2');
});
