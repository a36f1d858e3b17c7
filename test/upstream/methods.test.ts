import { expect, test } from 'vitest';
import type { PeerBinding, Selection } from '../../src/upstream/interfaces.ts';
import { openGroup, type TestGroup, walk } from './group.ts';

const TWO = 'server 10.0.0.1:1; server 10.0.0.2:1;';

/** Sends a request that takes `ms` in all, and `headMs` to its head. */
function request(
  { group, clock }: TestGroup,
  times: Readonly<Record<string, number>>,
  headMs?: number,
): string {
  const selection = group.begin({});
  const address = selection.next()?.address ?? '';
  const seconds = (times[address] ?? 0) / 1000;
  const head = (headMs ?? 0) / 1000;
  clock.second += head;
  selection.headArrived(false);
  clock.second += seconds - head;
  selection.done('ok');
  return address;
}

const begin = ({ group }: TestGroup, binding?: PeerBinding): { selection: Selection; address: string } => {
  const selection = group.begin(binding ? { binding } : {});
  return { selection, address: selection.next()?.address ?? '' };
};

/** How many of `count` requests each peer gets. */
function sharesOf(opened: TestGroup, count: number): Record<string, number> {
  const shares: Record<string, number> = {};
  for (let n = 0; n < count; n++) {
    const [address = ''] = walk(opened);
    shares[address] = (shares[address] ?? 0) + 1;
  }
  return shares;
}

test('least_time prefers the peer with the lower average time', () => {
  const opened = openGroup(`least_time last_byte; ${TWO}`);
  const times = { '10.0.0.1:1': 100, '10.0.0.2:1': 10 };
  const picked = Array.from({ length: 10 }, () => request(opened, times));
  expect(picked.slice(2)).toEqual(Array.from({ length: 8 }, () => '10.0.0.2:1'));
});

test('least_time header measures to the head, last_byte to the end', () => {
  for (const [by, expected] of [
    ['header', '10.0.0.1:1'],
    ['last_byte', '10.0.0.2:1'],
  ]) {
    const opened = openGroup(`least_time ${by}; ${TWO}`);
    request(opened, { '10.0.0.1:1': 500 }, 10);
    request(opened, { '10.0.0.2:1': 200 }, 190);
    expect(begin(opened).address).toBe(expected);
  }
});

test('times of one step of 20 ms are equal, and round robin decides', () => {
  const opened = openGroup(`least_time last_byte; ${TWO}`);
  const times = { '10.0.0.1:1': 19, '10.0.0.2:1': 2 };
  const picked = Array.from({ length: 6 }, () => request(opened, times).at(-3));
  expect(picked.join('')).toBe('121212');
});

test('least_time multiplies by the requests in progress and divides by the weight', () => {
  const opened = openGroup('least_time last_byte; server 10.0.0.1:1 weight=3; server 10.0.0.2:1;');
  const picked = Array.from({ length: 4 }, () => begin(opened).address.at(-3));
  expect(picked.filter((name) => name === '1')).toHaveLength(3);
});

/** When a peer whose first response took 4 s gets a request again: one each time. */
const chances = [
  { failTimeout: 0, at: [4, 5, 6, 7, 8, 9], gets: [0, 0, 0, 0, 1, 0] },
  { failTimeout: 9, at: [40, 60, 79, 80, 81], gets: [0, 0, 0, 1, 0] },
];

for (const { failTimeout, at, gets } of chances) {
  test(`the time of a peer without requests counts half for each fail_timeout of ${failTimeout} s, and it gets one`, () => {
    const opened = openGroup(
      `least_time last_byte; server 10.0.0.1:1 fail_timeout=${failTimeout}; server 10.0.0.2:1;`,
    );
    const start = opened.clock.second;
    request(opened, { '10.0.0.1:1': 4000 });
    const shares = at.map((second) => {
      opened.clock.second = start + second;
      const picked = Array.from({ length: 10 }, () => request(opened, {}));
      return picked.filter((address) => address === '10.0.0.1:1').length;
    });
    expect(shares).toEqual(gets);
  });
}

test('with inflight, a peer that does not respond is avoided before its first response', () => {
  for (const [inflight, expected] of [
    ['inflight', ['2']],
    ['', ['1', '2']],
  ] as const) {
    const opened = openGroup(`least_time header ${inflight}; ${TWO}`);
    expect(begin(opened).address).toBe('10.0.0.1:1');
    opened.clock.second += 2;
    const picked = Array.from({ length: 6 }, () => begin(opened).address.at(-3));
    expect(new Set(picked)).toEqual(new Set(expected));
  }
});

test('random two least_time chooses the faster one of two', () => {
  const opened = openGroup(`random two least_time=last_byte; ${TWO}`);
  const times = { '10.0.0.1:1': 400, '10.0.0.2:1': 10 };
  for (let n = 0; n < 20; n++) request(opened, times);
  const picked = Array.from({ length: 20 }, () => request(opened, times));
  expect(new Set(picked)).toEqual(new Set(['10.0.0.2:1']));
});

test('a draining peer gets no request that is not bound to it', () => {
  const opened = openGroup('server 10.0.0.1:1 drain route=a; server 10.0.0.2:1;');
  expect(sharesOf(opened, 4)).toEqual({ '10.0.0.2:1': 4 });
  expect(begin(opened, { id: 'a' }).address).toBe('10.0.0.1:1');
  expect(opened.group.view().map(({ state }) => state)).toEqual(['draining', 'up']);
});

test('a group whose only peer is draining serves bound requests only', () => {
  const opened = openGroup('server 10.0.0.1:1 drain route=a;');
  expect(begin(opened).address).toBe('');
  expect(begin(opened, { id: 'a' }).address).toBe('10.0.0.1:1');
});

test('a backup is bound to by id only when no primary is left', () => {
  const opened = openGroup('server 10.0.0.1:1 route=a; server 10.0.0.2:1 route=b backup;');
  expect(begin(opened, { id: 'b' }).address).toBe('10.0.0.1:1');
  walk(opened, {}, ['10.0.0.1:1']);
  expect(begin(opened, { id: 'b' }).address).toBe('10.0.0.2:1');
});

test('a bound request uses up a turn of its peer, but its debt stays below one round', () => {
  const opened = openGroup('server 10.0.0.1:1 route=a; server 10.0.0.2:1; server 10.0.0.3:1;');
  for (let n = 0; n < 50; n++) {
    const { selection, address } = begin(opened, { id: 'a' });
    selection.done('ok');
    expect(address).toBe('10.0.0.1:1');
  }
  const { '10.0.0.1:1': share = 0 } = sharesOf(opened, 30);
  expect(share).toBeGreaterThanOrEqual(9);
});

/** A group whose first peer has failed and has just become available again. */
function recovered(block: string): TestGroup {
  const opened = openGroup(block);
  walk(opened, {}, ['10.0.0.1:1']);
  opened.clock.second += 11;
  while (walk(opened)[0] !== '10.0.0.1:1');
  return opened;
}

const ramps = [
  { at: 2, share: 0.2 },
  { at: 5, share: 0.5 },
  { at: 8, share: 0.8 },
  { at: 12, share: 1 },
];

for (const method of ['', 'least_conn;', 'least_time header;']) {
  for (const { at, share } of ramps) {
    test(`${method || 'round robin;'} the share of a peer grows to ${share} of its weight within slow_start`, () => {
      const opened = recovered(`${method} server 10.0.0.1:1 slow_start=10s; server 10.0.0.2:1;`);
      opened.clock.second += at;
      // With least_conn only requests in progress count.
      const count = 300;
      const open = Array.from({ length: count }, () => begin(opened));
      const got = open.filter(({ address }) => address === '10.0.0.1:1').length;
      const expected = (count * share) / (1 + share);
      expect(Math.abs(got - expected)).toBeLessThanOrEqual(0.1 * expected + 1);
    });
  }
}

test('the share is whole at the start, and for an only server', () => {
  const opened = openGroup('server 10.0.0.1:1 slow_start=10s; server 10.0.0.2:1;');
  expect(sharesOf(opened, 100)).toEqual({ '10.0.0.1:1': 50, '10.0.0.2:1': 50 });
  expect(walk(openGroup('server 10.0.0.1:1 slow_start=10s;'))).toEqual(['10.0.0.1:1']);
});

test('the state of a peer says that its share grows', () => {
  const opened = recovered('server 10.0.0.1:1 slow_start=10s; server 10.0.0.2:1;');
  expect(opened.group.view().map(({ state }) => state)).toEqual(['slow_start', 'up']);
  opened.clock.second += 10;
  expect(opened.group.view().map(({ state }) => state)).toEqual(['up', 'up']);
});

test('the share grows in every worker from the same moment', () => {
  const block = 'server 10.0.0.1:1 slow_start=10s; server 10.0.0.2:1;';
  const first = recovered(block);
  const second = openGroup(block, first, 2);
  expect(second.group.view()[0]?.state).toBe('slow_start');
});
