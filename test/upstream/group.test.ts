import { expect, test } from 'vitest';
import { markDead } from '../../src/zone/index.ts';
import { openGroup, walk } from './group.ts';

const THREE = 'server 10.0.0.1:1; server 10.0.0.2:1; server 10.0.0.3:1;';

test('workers take turns with the peers of a group', () => {
  const first = openGroup(THREE);
  const second = openGroup(THREE, first, 2);
  const picked = [first, second, first, second, second, first].flatMap((worker) => walk(worker));
  expect(picked.map((address) => address[7])).toEqual(['1', '2', '3', '1', '2', '3']);
});

test('a peer that failed in one worker is avoided by all of them, and one worker tries it when its time is over', () => {
  const first = openGroup('server 10.0.0.1:1; server 10.0.0.2:1;');
  const second = openGroup('server 10.0.0.1:1; server 10.0.0.2:1;', first, 2);
  expect(walk(first, {}, ['10.0.0.1:1'])).toEqual(['10.0.0.1:1', '10.0.0.2:1']);
  expect([...walk(second), ...walk(second)]).toEqual(['10.0.0.2:1', '10.0.0.2:1']);
  first.clock.second += 11;
  const picked = [first, second, first, second, first].map(({ group }) => group.begin({}).next()?.address);
  expect(picked.filter((address) => address === '10.0.0.1:1')).toHaveLength(1);
});

test('a group keeps the state of its peers across a reload', () => {
  const block = 'server 10.0.0.1:1; server 10.0.0.2:1;';
  const before = openGroup(block);
  walk(before, {}, ['10.0.0.1:1']);
  const after = openGroup(block, before);
  before.group.close();
  expect([...walk(after), ...walk(after)]).toEqual(['10.0.0.2:1', '10.0.0.2:1']);
});

test('a server keeps its failures across a reload by its address; its new weight counts at once', () => {
  const before = openGroup('server 10.0.0.1:1; server 10.0.0.2:1;');
  walk(before, {}, ['10.0.0.1:1']);
  const after = openGroup('server 10.0.0.1:1 weight=9; server 10.0.0.2:1; server 10.0.0.3:1;', before);
  before.group.close();
  expect(after.group.view().map(({ state }) => state)).toEqual(['unavailable', 'up', 'up']);
  after.clock.second += 11;
  const picked = Array.from({ length: 11 }, () => walk(after)[0]);
  expect(picked.filter((address) => address === '10.0.0.1:1')).toHaveLength(9);
});

test('max_conns holds over all workers, and the requests of a dead worker no longer count', () => {
  const block = 'server 10.0.0.1:1 max_conns=2; server 10.0.0.2:1 backup;';
  const first = openGroup(block);
  const other = openGroup(block, first, 2);
  const open = [first, other].map(({ group }) => {
    const selection = group.begin({});
    return { selection, peer: selection.next()?.address };
  });
  expect(open.map(({ peer }) => peer)).toEqual(['10.0.0.1:1', '10.0.0.1:1']);
  expect(walk(first)).toEqual(['10.0.0.2:1']);
  markDead(first.zone, 2);
  expect(walk(first)).toEqual(['10.0.0.1:1']);
  open[0]?.selection.done('ok');
  expect(first.group.view().map(({ requests }) => requests)).toEqual([0, 0]);
});

test('a single peer beyond max_conns gets no request', () => {
  const opened = openGroup('server 10.0.0.1:1 max_conns=1;');
  const selection = opened.group.begin({});
  selection.next();
  expect(walk(opened)).toEqual(['u']);
  selection.done('unused');
  expect(walk(opened)).toEqual(['10.0.0.1:1']);
});

test('a client that leaves does not change the state of a peer that was being tried again', () => {
  const opened = openGroup('server 10.0.0.1:1; server 10.0.0.2:1;');
  walk(opened, {}, ['10.0.0.1:1']);
  opened.clock.second += 11;
  const selections = [opened.group.begin({}), opened.group.begin({})];
  const picked = selections.map((selection) => selection.next()?.address);
  selections[picked.indexOf('10.0.0.1:1')]?.done('unused');
  expect([...walk(opened), ...walk(opened)]).toContain('10.0.0.1:1');
});

test('a kept connection that was closed meanwhile does not count as a try: the next peer gets the request, or the only one once more', () => {
  const selection = openGroup('server 10.0.0.1:1; server 10.0.0.2:1;').group.begin({});
  expect([selection.tries, selection.next()?.address]).toEqual([2, '10.0.0.1:1']);
  selection.done('stale');
  expect([selection.tries, selection.next()?.address]).toEqual([2, '10.0.0.2:1']);

  const only = openGroup('server 10.0.0.1:1;').group.begin({});
  expect(only.next()?.address).toBe('10.0.0.1:1');
  only.done('stale');
  expect([only.tries, only.next()?.address]).toEqual([1, '10.0.0.1:1']);
  only.done('failed');
  expect(only.tries).toBe(0);
});

test('an avoided peer is reported once per failure, and shows in the status', () => {
  const opened = openGroup(
    'server 10.0.0.1:1 max_fails=2; server 10.0.0.2:1 down; server 10.0.0.3:1 backup;',
  );
  walk(opened, {}, ['10.0.0.1:1']);
  expect(opened.logged).toEqual([]);
  walk(opened, {}, ['10.0.0.1:1']);
  expect(opened.logged).toEqual(['upstream server temporarily disabled, upstream: "10.0.0.1:1"']);
  expect(opened.group.view()).toMatchObject([
    { address: '10.0.0.1:1', state: 'unavailable', fails: 2, backup: false },
    { address: '10.0.0.2:1', state: 'down' },
    { address: '10.0.0.3:1', state: 'up', backup: true },
  ]);
});

test('a peer keeps its object and its failures while the addresses around it change', () => {
  const opened = openGroup('server a.example:80; server 10.0.0.9:1;');
  opened.group.setAddresses(0, [{ address: '10.0.0.1:80' }, { address: '10.0.0.2:80' }]);
  const before = opened.group.begin({}).next();
  expect(before).toMatchObject({ address: '10.0.0.1:80', name: 'a.example:80' });
  walk(opened, {}, ['10.0.0.2:80']);
  opened.group.setAddresses(0, [
    { address: '10.0.0.1:80' },
    { address: '10.0.0.2:80' },
    { address: '10.0.0.3:80' },
  ]);
  expect(opened.group.view().map(({ fails }) => fails)).toEqual([0, 1, 0, 0]);
  const picked = Array.from({ length: 9 }, () => walk(opened)).flat();
  expect(new Set(picked)).toEqual(new Set(['10.0.0.1:80', '10.0.0.3:80', '10.0.0.9:1']));
  opened.group.setAddresses(0, []);
  expect(opened.group.view()).toHaveLength(1);
});

test('a request keeps the peers it began with', () => {
  const opened = openGroup('server a.example:80;');
  opened.group.setAddresses(0, [{ address: '10.0.0.1:80' }, { address: '10.0.0.2:80' }]);
  const selection = opened.group.begin({});
  selection.next();
  opened.group.setAddresses(0, []);
  selection.done('failed');
  expect(selection.next()?.address).toBe('10.0.0.2:80');
  expect(walk(opened)).toEqual(['u']);
});

test('random picks among all peers, and with two choices the less busy one', () => {
  const opened = openGroup(`random; ${THREE}`);
  const picked = Array.from({ length: 200 }, () => walk(opened)).flat();
  expect(new Set(picked).size).toBe(3);

  const two = openGroup('random two; server 10.0.0.1:1; server 10.0.0.2:1;');
  const busy = two.group.begin({}).next();
  expect(new Set(Array.from({ length: 20 }, () => walk(two)).flat())).not.toContain(busy?.address);
});

test('random finds the last peer that is left', () => {
  for (const method of ['random', 'random two']) {
    const opened = openGroup(`${method}; ${THREE}`);
    for (let n = 0; n < 30; n++) {
      const tried = walk(opened, {}, ['10.0.0.1:1', '10.0.0.2:1']);
      expect(tried.at(-1)).toBe('10.0.0.3:1');
    }
  }
});
