import { expect, test } from 'vitest';
import { carriedKindOf, refusalOf } from '../../src/master/upgrade/carried-kinds.ts';
import {
  createZone,
  openDictionary,
  openRequestRates,
  openRing,
  SharedText,
  type ZoneDeclaration,
} from '../../src/zone/index.ts';
import { loadConf } from '../harness/load-faults.ts';

const DICTIONARY = { name: 'd', kind: 'dictionary', sizeBytes: 8_192 } as const;
const RING = { name: 'r', kind: 'ring', capacity: 8, isCarried: true } as const;
const SOCKET = 'unix:/run/app.sock';
const MEMBERS = {
  name: 'm',
  kind: 'shared text',
  bytes: 4_096,
  carried: { room: 2, sockets: [SOCKET] },
} as const;

/** A zone of its own, and the function that adds a piece: it returns why one is refused. */
function opened(declaration: ZoneDeclaration) {
  const buffer = createZone(declaration);
  const restore = carriedKindOf(declaration)?.restorer(buffer);
  const add = (piece: unknown): string | undefined => {
    try {
      restore?.(piece);
      return undefined;
    } catch (error) {
      return refusalOf(error);
    }
  };
  return { buffer, add };
}

const values: readonly { readonly piece: string; readonly value?: unknown }[] = [
  { piece: '["k","b1",0]', value: true },
  { piece: '["k","sconstructor",60000]', value: 'constructor' },
  { piece: '["k","n-1.5",0]', value: -1.5 },
  { piece: '["k","constructor",0]' },
  { piece: '["k","toString",0]' },
  { piece: '["k","__proto__",0]' },
  { piece: '["k","nNaN",0]', value: NaN },
  { piece: '["k","nInfinity",0]', value: Infinity },
  { piece: '["k","n-Infinity",0]', value: -Infinity },
  { piece: '["k","b1",1e999]' },
  { piece: '["k","b1",1e15]' },
  { piece: '["k","b1",-1]' },
  { piece: '{"toString":1}' },
];

for (const { piece, value } of values) {
  test(`an upgrade ${value === undefined ? 'refuses' : 'carries over'} the entry ${piece}`, () => {
    const { buffer, add } = opened(DICTIONARY);
    expect(add(JSON.parse(piece))).toBe(value === undefined ? 'an entry is malformed' : undefined);
    expect(openDictionary(buffer, 1).get('k')).toBe(value);
  });
}

test('the refusal of an entry does not contain it', () => {
  const { add } = opened(DICTIONARY);
  expect(add(['', 'ssecret', 0])).toBe('an entry is refused: bad key');
  expect(add(['secret', `s${'x'.repeat(10_000)}`, 0])).toBe('an entry is refused: no memory');
});

const FIELDS = ['channel', 'c', 'type', 't', 'time', '1', 'payload', 'p'];

test('a ring counts on after the highest generation that an upgrade may carry over', () => {
  const { buffer, add } = opened(RING);
  expect(add([2 ** 52, FIELDS])).toBeUndefined();
  const ring = openRing(buffer, 1);
  const publish = () => ring.publish({ channel: 'c', type: 't', payload: 'p' })?.generation;
  expect([publish(), publish()]).toEqual([2 ** 52 + 1, 2 ** 52 + 2]);
  expect(ring.range()?.newest).toBe(2 ** 52 + 2);
});

for (const generation of [2 ** 52 + 1, Number.MAX_SAFE_INTEGER, 0, 1.5, '1']) {
  test(`an upgrade refuses an event with the generation ${JSON.stringify(generation)}`, () => {
    const { buffer, add } = opened(RING);
    expect(add([generation, FIELDS])).toBe('an event is malformed');
    expect(openRing(buffer, 1).publish({ channel: 'c', type: 't', payload: 'p' })?.generation).toBe(1);
  });
}

test('an upgrade refuses an event whose fields are no texts', () => {
  expect(opened(RING).add([1, [{ toString: 1 }]])).toBe('an event is malformed');
});

const COUNTS = { name: 'q', kind: 'request limit', sizeBytes: 32_768, key: 'k', isCarried: true } as const;

test('an upgrade carries over the counts of quotas, and of no other limits', () => {
  const from = createZone(COUNTS);
  const rates = openRequestRates(from, 1);
  const count = (buffer: SharedArrayBuffer, key: string): readonly number[] => {
    const opened = openRequestRates(buffer, 1);
    opened.choose(key);
    opened.acquire();
    opened.find();
    const found = [opened.number, opened.writtenMs];
    opened.release();
    return found;
  };
  for (const [key, number] of [
    ['a', 3],
    ['ü', 0],
  ] as const) {
    rates.choose(key);
    rates.acquire();
    rates.find();
    rates.number = number;
    rates.writtenMs = 1_000 + number;
    rates.release();
  }
  count(from, 'never written');
  const pieces = [...(carriedKindOf(COUNTS)?.pieces(from) ?? [])];
  const { buffer, add } = opened(COUNTS);
  expect(pieces.map((piece) => add(JSON.parse(JSON.stringify(piece))))).toEqual([undefined, undefined]);
  expect([count(buffer, 'a'), count(buffer, 'ü'), count(buffer, 'b')]).toEqual([
    [3, 1_003],
    [0, 1_000],
    [0, -Infinity],
  ]);
  const { isCarried: _, ...other } = COUNTS;
  expect(carriedKindOf(other)).toBeUndefined();
});

for (const piece of [
  ['', 1, 1],
  ['k', -1, 1],
  ['k', 1, null],
  ['k', '1', 1],
  [1, 1, 1],
  'k',
  ['x'.repeat(70_000), 1, 1],
])
  test(`an upgrade refuses the count ${JSON.stringify(piece).slice(0, 30)}`, () => {
    expect(opened(COUNTS).add(piece)).toBe('a count is malformed');
  });

test('an upgrade drops no count for another one', () => {
  const { add } = opened(COUNTS);
  const refusals = Array.from({ length: 300 }, (_, nth) => add([`${nth}${'x'.repeat(200)}`, 1, 1]));
  expect(new Set(refusals)).toEqual(new Set([undefined, 'a count has no room']));
});

const peer = (address: string) => ({ address });
const setOf = (peers: unknown, more: object = {}): string =>
  JSON.stringify({ node: 'upgrade', sequence: 1, configured: '', peers, draining: [], ...more });

const sets: readonly { readonly it: string; readonly piece: unknown; readonly refusal?: string }[] = [
  { it: 'with a socket of the configuration', piece: setOf([peer(SOCKET), peer('10.0.0.1:80')]) },
  {
    it: 'with another socket',
    piece: setOf([peer('unix:/run/docker.sock')]),
    refusal: 'the members are refused, code 4003',
  },
  {
    it: 'with more peers than there is room for',
    piece: setOf(['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80'].map(peer)),
    refusal: 'the members are refused, code 5001',
  },
  {
    it: 'with a generation that leaves no room to count',
    piece: setOf([peer('10.0.0.1:80')], { sequence: Number.MAX_SAFE_INTEGER }),
    refusal: 'the members are refused, code 4002',
  },
  {
    it: 'with an unknown field',
    piece: setOf([{ ...peer('10.0.0.1:80'), 'x\nsecret': 1 }]),
    refusal: 'the members are refused, code 4002',
  },
  { it: 'that is longer than the zone', piece: 'secret'.repeat(1_000), refusal: 'the members have no room' },
  { it: 'that is no text', piece: { toString: 1 }, refusal: 'the members are malformed' },
];

for (const { it, piece, refusal } of sets) {
  test(`an upgrade ${refusal === undefined ? 'carries over' : 'refuses'} a set ${it}`, () => {
    const { buffer, add } = opened(MEMBERS);
    expect(add(piece)).toBe(refusal);
    expect(new SharedText(buffer, 1).revision).toBe(refusal === undefined ? 1 : 0);
  });
}

/** The zones of a configuration, and whether an upgrade carries them. */
function zonesOf(cluster: string): Readonly<Record<string, boolean>> {
  const named = cluster && `cluster=${cluster}`;
  const { plan, report } = loadConf(`events {}
    http {
      cluster main { backend redis://127.0.0.1:6379; secret ${'s'.repeat(40)}; }
      shared_dict_zone zone=flags:64k ${named};
      upstream app { server 127.0.0.1:1; dynamic_upstreams_managed; }
      upstream sticky {
        server 127.0.0.1:1;
        sticky learn create=$upstream_cookie_a lookup=$cookie_a zone=sessions:32k ${cluster && 'sync'};
      }
      server {
        location /members {
          dynamic_upstreams_api; dynamic_upstreams_target APP;
          ${cluster && `dynamic_upstreams_cluster ${cluster};`}
        }
        location /events { worker_events_api; worker_events_zone bus ${named}; worker_events_channel c; }
        location /flags { control_api; control_flags_zone flags; }
      }
    }`);
  expect(report.faults).toEqual([]);
  const zones = (plan?.zones ?? []).filter(({ name }) => /^(?:flags|bus|sticky|members)/.test(name));
  return Object.fromEntries(
    zones.map((zone) => [zone.name.split(' ')[0], carriedKindOf(zone) !== undefined]),
  );
}

test('an upgrade carries over the zones of one gateway', () => {
  expect(zonesOf('')).toEqual({ flags: true, bus: true, sticky: true, members: true });
});

test('an upgrade does not fill zones that gateways share', () => {
  expect(zonesOf('main')).toEqual({ flags: false, bus: false, sticky: false, members: false });
});
