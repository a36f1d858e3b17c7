import { expect, test } from 'vitest';
import { type Backend, backendLabel, parseBackend } from '../../src/cluster/index.ts';
import { pauseMs } from '../../src/cluster/stores/redis/servers/search.ts';
import { type ConnectionTarget, readDsn } from '../../src/postgres/index.ts';
import { AddressFault } from '../../src/redis/index.ts';

const inet = (host: string, port: number) => ({ kind: 'inet', host, port }) as const;

const backends: readonly { text: string; gives: Backend; label: string }[] = [
  {
    text: 'redis://gw:sesame@r1',
    gives: {
      kind: 'server',
      endpoint: { ...inet('r1', 6379), username: 'gw', password: 'sesame' },
    },
    label: 'r1:6379',
  },
  {
    text: 'sentinel://h1,h2:5000,[::1]/main',
    gives: {
      kind: 'sentinel',
      sentinels: [inet('h1', 26379), inet('h2', 5000), inet('::1', 26379)],
      name: 'main',
      access: {},
    },
    label: 'sentinel://h1:26379,h2:5000,[::1]:26379/main',
  },
  {
    text: 'Redis+Sentinel://:p%40ss@h1/main.2/3',
    gives: {
      kind: 'sentinel',
      sentinels: [inet('h1', 26379)],
      name: 'main.2',
      access: { password: 'p@ss', db: 3 },
    },
    label: 'sentinel://h1:26379/main.2',
  },
  ...[
    'postgres://gw:sesame@p1,p2:6000/gw',
    "host=p1,p2 port=5432,6000 user=gw password='sesame' dbname=gw",
  ].map((address) => ({
    text: address,
    gives: { kind: 'postgres', target: readDsn(address) as ConnectionTarget } as const,
    label: 'postgres://p1:5432,p2:6000/gw',
  })),
  ...['sentinels', 'rediss+sentinel'].map((scheme) => ({
    text: `${scheme}://gw:sesame@h1:1/main`,
    gives: {
      kind: 'sentinel',
      sentinels: [{ ...inet('h1', 1), tls: true }],
      name: 'main',
      access: { username: 'gw', password: 'sesame', tls: true },
    } as const,
    label: 'sentinel://h1:1/main',
  })),
  {
    text: 'redis+cluster://gw:sesame@h1,h2:7000',
    gives: {
      kind: 'cluster',
      seeds: [inet('h1', 6379), inet('h2', 7000)].map((one) => ({
        ...one,
        username: 'gw',
        password: 'sesame',
      })),
      access: { username: 'gw', password: 'sesame' },
    },
    label: 'redis+cluster://h1:6379,h2:7000',
  },
  {
    text: 'rediss+cluster://h1/',
    gives: { kind: 'cluster', seeds: [{ ...inet('h1', 6379), tls: true }], access: { tls: true } },
    label: 'redis+cluster://h1:6379',
  },
];
for (const { text, gives, label } of backends) {
  test(`the address ${text} is understood, and shown without its login`, () => {
    expect(parseBackend(text)).toEqual(gives);
    expect(backendLabel(gives)).toBe(label);
  });
}

const faults = {
  'sentinel://h1': 'has no name of a master',
  'sentinel://h1/': 'has no name of a master',
  'sentinel:///main': 'has no host',
  'sentinel://h1,/main': 'has no host',
  'sentinel://h1 h2/main': 'has an invalid host',
  'sentinel://::1/main': 'has an invalid host',
  'sentinel://h1:0/main': 'has an invalid port',
  'sentinel://h1:65536/main': 'has an invalid port',
  'sentinel://h1/ma in': 'has an invalid name of a master',
  'sentinel://h1/main/x': 'has a path that is not a name and a database number',
  'sentinel://h1/main/1/2': 'has a path that is not a name and a database number',
  'sentinel://h1/main?db=1': 'takes no query and no fragment',
  'sentinel://gw@h1/main': 'has a user name without a password',
  'sentinel://gw:%ff@h1/main': 'has a login that is not UTF-8',
  'redis+cluster://': 'has no host',
  'redis+cluster://h1/1': 'has a path, but a Redis Cluster has one database',
  'redis+cluster+x://h1': 'has an unknown scheme',
  'postgresql://h1:0/gw': 'has a malformed connection string, expected 1 to 65535',
  'hst=h1': 'has a malformed connection string, did you mean "host"?',
  'host=h1 sesame': 'has a malformed connection string, expected keyword=value',
};
for (const [text, predicate] of Object.entries(faults)) {
  test(`the address ${text} ${predicate}`, () => {
    expect(parseBackend(text)).toEqual(new AddressFault(predicate));
  });
}

test('the first attempt comes at once; then pauses grow from 0.1 to 5 s, and are not the same for all', () => {
  const pauses = Array.from({ length: 1_000 }, (_, nth) => pauseMs(10 + nth));
  expect(pauseMs(1)).toBe(0);
  expect(pauseMs(2)).toBeGreaterThanOrEqual(100);
  expect(pauseMs(2)).toBeLessThanOrEqual(200);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(100);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(5_000);
  expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(3_000);
  // An attempt that has waited for a reply was a pause itself.
  expect(pauseMs(10, 5_000)).toBe(100);
});
