import { expect, test, vi } from 'vitest';
import { NameResolver } from '../../src/upstream/names/name-resolver.ts';
import { type DnsRecords, type DnsServer, startDnsServer } from '../harness/dns-server.ts';
import type { Owner } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';
import { openUpstreams } from './open.ts';

type Options = Partial<
  Record<'ipv4' | 'ipv6', boolean> & { validMs: number; timeoutMs: number; ports: readonly number[] }
>;

/** The resolver that asks these name servers. */
function resolverFor(t: Owner, servers: readonly DnsServer[], options: Options = {}): NameResolver {
  const { timeoutMs = 10_000, ports = servers.map(({ port }) => port), ...families } = options;
  const resolver = new NameResolver({
    resolver: {
      servers: ports.map((port) => ({ host: '127.0.0.1', port })),
      ipv4: true,
      ipv6: true,
      ...families,
    },
    timeoutMs,
  });
  t.onTestFinished(async () => resolver.close());
  return resolver;
}

/** The addresses of a name, or why there are none. */
const resolved = (resolver: NameResolver, name: string): Promise<readonly string[] | string> =>
  resolver.addresses(name).then(
    ({ addresses }) => addresses,
    ({ message }: Error) => message.replace(/^.*\((.*)\)$/, '$1'),
  );

const numbered = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

/** `n0.test` is an alias of `n1.test`, and so on. */
const aliases = (count: number): Record<string, DnsRecords> => ({
  ...Object.fromEntries(numbered(count).map((n) => [`n${n}.test`, { alias: `n${n + 1}.test` }])),
  [`n${count}.test`]: { addresses: ['10.0.0.9'] },
});

const LABEL = 'x'.repeat(63);
const LONG = `${LABEL}.${LABEL}.${LABEL}.test`;

const names: readonly {
  readonly it: string;
  readonly names: Readonly<Record<string, DnsRecords>>;
  readonly becomes: readonly string[] | string;
  readonly asked?: readonly string[];
}[] = [
  {
    it: 'an alias alone is followed, in both families',
    names: { 'n0.test': { alias: 'b.test' }, 'b.test': { addresses: ['10.0.0.1', '2001:db8::1'] } },
    becomes: ['10.0.0.1', '2001:db8::1'],
    asked: ['A n0.test', 'AAAA n0.test', 'A b.test', 'AAAA b.test'],
  },
  {
    it: 'an alias with addresses beside it is asked for once',
    names: { 'n0.test': { alias: 'B.test', addresses: ['10.0.0.1'] } },
    becomes: ['10.0.0.1'],
    asked: ['A n0.test', 'AAAA n0.test'],
  },
  { it: 'fifty aliases are followed', names: aliases(50), becomes: ['10.0.0.9'] },
  { it: 'fifty-one aliases are too many', names: aliases(51), becomes: '3: Host not found' },
  {
    it: 'aliases in a circle are not found',
    names: { 'n0.test': { alias: 'b.test' }, 'b.test': { alias: 'n0.test' } },
    becomes: '3: Host not found',
    asked: ['A n0.test', 'AAAA n0.test', 'A b.test', 'AAAA b.test'],
  },
  {
    it: 'an alias of itself is not found',
    names: { 'n0.test': { alias: 'n0.test' } },
    becomes: '3: Host not found',
    asked: ['A n0.test', 'AAAA n0.test'],
  },
  {
    it: 'several aliases in one answer are followed in any order',
    names: {
      'n0.test': {
        others: [
          { owner: 'c.test', type: 'CNAME', data: 'd.test' },
          { owner: 'b.test', type: 'CNAME', data: 'c.test' },
        ],
        alias: 'b.test',
      },
      'd.test': { addresses: ['10.0.0.1'] },
    },
    becomes: ['10.0.0.1'],
    asked: ['A n0.test', 'AAAA n0.test', 'A d.test', 'AAAA d.test'],
  },
  {
    it: 'an alias that does not exist is not found',
    names: { 'n0.test': { alias: 'b.test' } },
    becomes: '3: Host not found',
  },
  {
    it: 'an alias that fails at its server fails',
    names: { 'n0.test': { alias: 'b.test' }, 'b.test': { fault: 2 } },
    becomes: '2: Server failure',
  },
  {
    it: 'a DNAME with the alias made of it is followed',
    names: {
      'n0.test': { others: [{ owner: 'test', type: 'DNAME', data: 'other' }], alias: 'n0.other' },
      'n0.other': { addresses: ['10.0.0.1'] },
    },
    becomes: ['10.0.0.1'],
  },
  {
    it: 'a DNAME alone renames what is below it',
    names: {
      'n0.test': { others: [{ owner: 'test', type: 'DNAME', data: 'other.example' }] },
      'n0.other.example': { addresses: ['10.0.0.1'] },
    },
    becomes: ['10.0.0.1'],
  },
  {
    it: 'a DNAME does not rename its own owner',
    names: { 'n0.test': { others: [{ owner: 'n0.test', type: 'DNAME', data: 'other' }] } },
    becomes: '3: Host not found',
  },
  {
    it: 'a DNAME that makes a name too long is not found',
    names: { 'n0.test': { others: [{ owner: 'test', type: 'DNAME', data: `${LONG}.${LABEL.slice(8)}` }] } },
    becomes: '3: Host not found',
  },
  {
    it: 'labels may have 63 characters',
    names: { 'n0.test': { alias: LONG }, [LONG]: { addresses: ['10.0.0.1'] } },
    becomes: ['10.0.0.1'],
  },
  {
    it: 'the address of another name does not count',
    names: { 'n0.test': { others: [{ owner: 'other.test', type: 'A', data: '10.0.0.6' }] } },
    becomes: '3: Host not found',
  },
  {
    it: 'an error for one family fails the name',
    names: { 'n0.test': { addresses: ['10.0.0.1'], faults: { AAAA: 2 } } },
    becomes: '2: Server failure',
  },
  {
    it: 'an error for the other family fails the name, too',
    names: { 'n0.test': { addresses: ['2001:db8::1'], faults: { A: 5 } } },
    becomes: '5: Operation refused',
  },
  {
    it: 'a name without addresses of one family has those of the other',
    names: { 'n0.test': { addresses: ['2001:db8::1'] } },
    becomes: ['2001:db8::1'],
  },
  {
    it: 'a name that does not exist in one family has the addresses of the other',
    names: { 'n0.test': { addresses: ['10.0.0.1'], faults: { AAAA: 3 } } },
    becomes: ['10.0.0.1'],
  },
  {
    it: 'an answer that is too long is asked for over TCP',
    names: {
      'n0.test': { truncated: true, addresses: numbered(1000).map((n) => `10.0.${n >> 8}.${n & 255}`) },
    },
    becomes: numbered(1000).map((n) => `10.0.${n >> 8}.${n & 255}`),
  },
];

for (const { it, names: records, becomes, asked } of names) {
  test(`of a name that is resolved, ${it}`, async (t) => {
    const dns = await startDnsServer(t, records);
    expect(await resolved(resolverFor(t, [dns]), 'N0.test')).toEqual(becomes);
    expect(dns.asked).toEqual(asked ?? dns.asked);
  });
}

/** The answer with other bytes at these places. */
const changed =
  (at: number, ...bytes: readonly number[]) =>
  (answer: Buffer): readonly Buffer[] => {
    const copy = Buffer.from(answer);
    Buffer.from(bytes).copy(copy, at);
    copy[copy.length - 1] = 66;
    return [copy];
  };

/** Where the question ends: behind the header, the labels `n0` and `test`, type and class. */
const END = 12 + 3 + 5 + 1 + 4;

const forgeries: readonly { readonly it: string; readonly forged: (answer: Buffer) => readonly Buffer[] }[] =
  [
    { it: 'has another id', forged: (answer) => changed(0, (answer[0] as number) ^ 1)(answer) },
    { it: 'is a query', forged: changed(2, 0x01) },
    { it: 'is of another kind', forged: changed(2, 0xa1) },
    { it: 'has an unknown code', forged: changed(3, 0x89) },
    { it: 'has no question', forged: changed(4, 0, 0) },
    { it: 'has two questions', forged: changed(4, 0, 2) },
    { it: 'is about another name', forged: changed(13, 0x6d) },
    { it: 'is about another type', forged: changed(END - 3, 16) },
    { it: 'is about another class', forged: changed(END - 1, 3) },
    { it: 'has a name that points to itself', forged: changed(END, 0xc0, END) },
    { it: 'has a name that points behind the end', forged: changed(END, 0xff, 0xff) },
    { it: 'has a label of an unknown kind', forged: changed(END, 0x80) },
    { it: 'announces more records than it has', forged: changed(6, 0xff, 0xff) },
    { it: 'is cut off', forged: (answer) => numbered(answer.length).map((end) => answer.subarray(0, end)) },
    {
      it: 'is too long',
      forged: (answer) => [Buffer.concat([changed(0)(answer)[0] as Buffer, Buffer.alloc(4096)])],
    },
  ];

for (const { it, forged } of forgeries) {
  test(`a DNS answer that ${it} is dropped, and the right one counts`, async (t) => {
    const dns = await startDnsServer(t, { 'n0.test': { addresses: ['10.0.0.1'], forged } });
    expect(await resolved(resolverFor(t, [dns], { ipv6: false }), 'n0.test')).toEqual(['10.0.0.1']);
    expect(dns.asked).toHaveLength(1);
  });
}

test('an answer from another socket than the name server is dropped', async (t) => {
  const [dns, other] = await Promise.all([startDnsServer(t, {}), startDnsServer(t, {})]);
  dns.names.set('n0.test', { addresses: ['10.0.0.1'] });
  other.names.set('n0.test', { addresses: ['10.0.0.66'] });
  expect(await resolved(resolverFor(t, [dns]), 'n0.test')).toEqual(['10.0.0.1']);
  expect(other.asked).toEqual([]);
});

test('every query has a port and an id of its own', async (t) => {
  const dns = await startDnsServer(t, {});
  const resolver = resolverFor(t, [dns]);
  for (const n of numbered(20)) expect(await resolved(resolver, `n${n}.test`)).toBe('3: Host not found');
  expect(dns.sources).toHaveLength(40);
  expect(new Set(dns.sources.map((source) => source.split(' ')[1])).size).toBeGreaterThan(30);
  expect(new Set(dns.sources.map((source) => source.split(' ')[2])).size).toBeGreaterThan(30);
});

test('queries for a flood of names share a bounded number of sockets, and all get their answers', async (t) => {
  const dns = await startDnsServer(t, {});
  for (const n of numbered(200)) dns.names.set(`n${n}.test`, { addresses: [`10.0.0.${n}`] });
  const resolver = resolverFor(t, [dns], { ipv6: false });
  const found = await Promise.all(numbered(200).map((n) => resolved(resolver, `n${n}.test`)));
  expect(found).toEqual(numbered(200).map((n) => [`10.0.0.${n}`]));
  const ports = new Set(dns.sources.map((source) => source.split(' ')[1]));
  expect([ports.size > 1, ports.size <= 64]).toEqual([true, true]);
});

const waitFor = async (resolver: NameResolver, list: readonly string[]): Promise<unknown[]> => {
  const all: unknown[] = [];
  for (const name of list) all.push(await resolved(resolver, name));
  return all;
};

test('names are asked from one name server after the other', async (t) => {
  const servers = await Promise.all([startDnsServer(t, {}), startDnsServer(t, {})]);
  const absent = '3: Host not found';
  const four = numbered(4).map((n) => `n${n}.test`);
  expect(await waitFor(resolverFor(t, servers, { ipv6: false }), four)).toEqual([
    absent,
    absent,
    absent,
    absent,
  ]);
  expect(servers.map(({ asked }) => asked)).toEqual([
    ['A n0.test', 'A n2.test'],
    ['A n1.test', 'A n3.test'],
  ]);
});

test('an error is final for its query and is not kept: the next query goes to the next name server', async (t) => {
  const servers = await Promise.all([
    startDnsServer(t, { 'a.test': { fault: 2 } }),
    startDnsServer(t, { 'a.test': { addresses: ['10.0.0.1'] } }),
  ]);
  const found = await waitFor(resolverFor(t, servers, { ipv6: false }), ['a.test', 'a.test', 'a.test']);
  expect(found).toEqual(['2: Server failure', ['10.0.0.1'], ['10.0.0.1']]);
  expect(servers.map(({ asked }) => asked)).toEqual([['A a.test'], ['A a.test']]);
});

test('a query without an answer goes to the next name server', async (t) => {
  const servers = await Promise.all([
    startDnsServer(t, { 'a.test': { fault: 'silent' } }),
    startDnsServer(t, { 'a.test': { addresses: ['10.0.0.1'] } }),
  ]);
  expect(await resolved(resolverFor(t, servers, { ipv6: false }), 'a.test')).toEqual(['10.0.0.1']);
  expect(servers.map(({ asked }) => asked)).toEqual([['A a.test'], ['A a.test']]);
});

test('a name server that closes its TCP connections is no better than one that cannot be reached', async (t) => {
  const long = { addresses: ['10.0.0.1'], truncated: true };
  const servers = await Promise.all([
    startDnsServer(t, { 'a.test': { ...long, closesTcp: true } }),
    startDnsServer(t, { 'a.test': long }),
  ]);
  const resolver = resolverFor(t, servers, { ipv6: false, timeoutMs: 1000 });
  expect(await resolved(resolver, 'a.test')).toEqual(['10.0.0.1']);
  const transports = servers.map(({ sources }) => sources.map((source) => source.split(' ')[0]));
  expect(transports).toEqual([
    ['udp', 'tcp'],
    ['udp', 'tcp'],
  ]);
});

test('a query is repeated until the only name server answers', async (t) => {
  const dns = await startDnsServer(t, { 'a.test': { fault: 'silent' } });
  const found = resolved(resolverFor(t, [dns], { ipv6: false }), 'a.test');
  await vi.waitFor(() => expect(dns.asked).toEqual(['A a.test']));
  dns.names.set('a.test', { addresses: ['10.0.0.1'] });
  expect(await found).toEqual(['10.0.0.1']);
  expect(dns.asked).toEqual(['A a.test', 'A a.test']);
});

test('a name server that cannot be reached costs no time', async (t) => {
  const dns = await startDnsServer(t, { 'a.test': { addresses: ['10.0.0.1'] } });
  const ports = [await freePort(), dns.port];
  const resolver = resolverFor(t, [], { ports, ipv6: false, timeoutMs: 1000 });
  expect(await resolved(resolver, 'a.test')).toEqual(['10.0.0.1']);
});

test('names that are asked for while they are looked up, also as an alias, cause no further query', async (t) => {
  const dns = await startDnsServer(t, {
    'a.test': { alias: 'c.test' },
    'b.test': { alias: 'c.test' },
    'c.test': { addresses: ['10.0.0.1'] },
  });
  const resolver = resolverFor(t, [dns], { ipv6: false });
  const asked = ['a.test', 'b.test', 'A.test', 'a.test.'];
  const found = await Promise.all(asked.map((name) => resolved(resolver, name)));
  expect(found).toEqual(asked.map(() => ['10.0.0.1']));
  expect(dns.asked.toSorted()).toEqual(['A a.test', 'A b.test', 'A c.test']);
  expect(resolver.known('a.test')?.addresses).toEqual(['10.0.0.1']);
});

const DAY_MS = 86_400_000;

const lifetimes: readonly {
  readonly it: string;
  readonly ttl: number;
  readonly validMs?: number;
  readonly ms: number;
}[] = [
  { it: 'its time to live', ttl: 300, ms: 300_000 },
  { it: 'a day at most', ttl: 0x7fff_ffff, ms: DAY_MS },
  { it: 'no time if its time to live is no number of 31 bits', ttl: 0xffff_ffff, ms: 0 },
  { it: 'the time of "valid"', ttl: 1, validMs: 3 * DAY_MS, ms: 3 * DAY_MS },
];

for (const { it, ttl, ms, ...options } of lifetimes) {
  test(`an address is kept for ${it}`, async (t) => {
    const dns = await startDnsServer(t, { 'a.test': { alias: 'b.test', addresses: ['10.0.0.1'], ttl } });
    const { validMs } = await resolverFor(t, [dns], options).addresses('a.test');
    expect([validMs > ms - 1000, validMs <= ms]).toEqual([true, true]);
  });
}

const service = (target: string, port: number) => ({ priority: 1, weight: 1, port, target });

test('the names of services and of their servers may be aliases', async (t) => {
  const dns = await startDnsServer(t, {
    '_http._tcp.a.test': { alias: '_http._tcp.b.test' },
    '_http._tcp.b.test': { services: [service('c.test', 81), service('gone.test', 82), service('', 83)] },
    'c.test': { alias: 'd.test' },
    'd.test': { addresses: ['10.0.0.1'] },
  });
  const { upstreams } = await openUpstreams(
    t,
    `upstream u { server a.test service=http resolve; resolver 127.0.0.1:${dns.port}; }`,
  );
  expect(upstreams.groups[0]?.view().map(({ address }) => address)).toEqual(['10.0.0.1:81']);
});

test('many services are asked for over TCP', async (t) => {
  const ports = numbered(200).map((n) => 8000 + n);
  const dns = await startDnsServer(t, {
    '_http._tcp.a.test': { services: ports.map((port) => service('b.test', port)), truncated: true },
    'b.test': { addresses: ['10.0.0.1'] },
  });
  const resolver = resolverFor(t, [dns]);
  const { records } = await resolver.service('_http._tcp.a.test');
  expect(records.map(({ port }) => port)).toEqual(ports);
  expect(dns.sources.map((source) => source.split(' ')[0])).toEqual(['udp', 'tcp', 'udp', 'udp']);
});

test('the servers of a service stay as long as one of its names fails, and follow when it does not exist', async (t) => {
  const name = '_http._tcp.a.test';
  const dns = await startDnsServer(t, {
    [name]: { services: [service('b.test', 81), service('c.test', 82)], ttl: 1 },
    'b.test': { addresses: ['10.0.0.1'], ttl: 1 },
    'c.test': { addresses: ['10.0.0.2'], ttl: 1 },
  });
  const { upstreams, logged } = await openUpstreams(
    t,
    `upstream u { server a.test service=http resolve; resolver 127.0.0.1:${dns.port} ipv6=off; }`,
  );
  const addresses = (): unknown => upstreams.groups[0]?.view().map(({ address }) => address);
  expect(addresses()).toEqual(['10.0.0.1:81', '10.0.0.2:82']);
  dns.names.set('b.test', { addresses: ['10.0.0.3'], ttl: 1 }).set('c.test', { fault: 2 });
  await vi.waitFor(
    () => expect(logged).toEqual(['c.test could not be resolved (2: Server failure)']),
    10_000,
  );
  expect(addresses()).toEqual(['10.0.0.1:81', '10.0.0.2:82']);
  dns.names.delete('c.test');
  await vi.waitFor(() => expect(addresses()).toEqual(['10.0.0.3:81']), 10_000);
});

test('TXT records are looked up, in one piece and through an alias; there are none of a name that does not exist', async (t) => {
  const long = 'x'.repeat(300);
  const server = await startDnsServer(t, {
    'a.test': { texts: ['one', long] },
    'b.test': { alias: 'a.test', texts: ['two'] },
    'c.test': { fault: 2 },
  });
  const resolver = resolverFor(t, [server]);
  expect(await resolver.texts('a.test')).toEqual(['one', long]);
  expect(await resolver.texts('b.test')).toEqual(['two']);
  expect(await resolver.texts('none.test')).toEqual([]);
  await expect(resolver.texts('c.test')).rejects.toThrow('c.test could not be resolved (2: Server failure)');
  expect(server.asked).toContain('TXT a.test');
});
