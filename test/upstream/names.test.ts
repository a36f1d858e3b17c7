import { expect, test, vi } from 'vitest';
import {
  type RequestHosts,
  ResolveFault,
  type Resolving,
  type UpstreamGroup,
} from '../../src/upstream/index.ts';
import { type DnsServer, startDnsServer } from '../harness/dns-server.ts';
import { openUpstreams } from './open.ts';

const resolvingWith = ({ port }: DnsServer, more: object = {}): Resolving => ({
  resolver: { servers: [{ host: '127.0.0.1', port }], ipv4: true, ipv6: true, ...more },
  timeoutMs: 5000,
});

/** All peers of a group, in the order in which one request would try them. */
function peersOf(group: UpstreamGroup): string[] {
  const selection = group.begin({});
  const peers: string[] = [];
  for (let peer = selection.next(); peer && selection.tries > 0; peer = selection.next()) {
    peers.push(peer.address);
    selection.done('failed');
  }
  return peers;
}

const peersAt = async (hosts: RequestHosts, host: string): Promise<string[]> =>
  peersOf(await hosts.group(host, 80)).toSorted();

test('a name in a request becomes its addresses of both families', async (t) => {
  const dns = await startDnsServer(t, { 'a.test': { addresses: ['10.0.0.2', '10.0.0.1', '2001:db8::1'] } });
  const { upstreams } = await openUpstreams(t, '');
  const hosts = upstreams.hosts(resolvingWith(dns));
  expect(await peersAt(hosts, 'A.test')).toEqual(['10.0.0.1:80', '10.0.0.2:80', '[2001:db8::1]:80']);
  expect(dns.asked.toSorted()).toEqual(['A a.test', 'AAAA a.test']);
  const onlyIpv4 = upstreams.hosts(resolvingWith(dns, { ipv6: false }));
  expect(await peersAt(onlyIpv4, 'a.test')).toEqual(['10.0.0.1:80', '10.0.0.2:80']);
});

test('an address in a request needs no resolver, a name does', async (t) => {
  const { upstreams } = await openUpstreams(t, '');
  const hosts = upstreams.hosts({ resolver: undefined, timeoutMs: 1000 });
  expect(await peersAt(hosts, '10.0.0.1')).toEqual(['10.0.0.1:80']);
  expect(await peersAt(hosts, '[2001:DB8:0::1]')).toEqual(['[2001:db8::1]:80']);
  expect(() => hosts.group('a.test', 80)).toThrow('no resolver defined to resolve a.test');
});

test('many requests for a name cause one DNS query, and its answer is kept', async (t) => {
  const dns = await startDnsServer(t, { 'a.test': { addresses: ['10.0.0.1'], ttl: 300 } });
  const { upstreams } = await openUpstreams(t, '');
  const hosts = upstreams.hosts(resolvingWith(dns, { ipv6: false }));
  const groups = await Promise.all(Array.from({ length: 50 }, async () => hosts.group('a.test', 80)));
  expect(new Set(groups).size).toBe(1);
  expect(hosts.group('a.test', 80)).toBe(groups[0]);
  expect(dns.asked).toEqual(['A a.test']);
});

test('a DNS answer is renewed when its time to live is over, or that of "valid"', async (t) => {
  const dns = await startDnsServer(t, { 'a.test': { addresses: ['10.0.0.1'], ttl: 0 } });
  const { upstreams } = await openUpstreams(t, '');
  const hosts = upstreams.hosts(resolvingWith(dns, { ipv6: false }));
  expect(await peersAt(hosts, 'a.test')).toEqual(['10.0.0.1:80']);
  const group = await hosts.group('a.test', 80);
  dns.names.set('a.test', { addresses: ['10.0.0.7'], ttl: 0 });
  expect(await peersAt(hosts, 'a.test')).toEqual(['10.0.0.7:80']);
  expect(await hosts.group('a.test', 80)).toBe(group);

  const kept = upstreams.hosts(resolvingWith(dns, { ipv6: false, validMs: 60_000 }));
  expect(await peersAt(kept, 'a.test')).toEqual(['10.0.0.7:80']);
  dns.names.set('a.test', { addresses: ['10.0.0.8'], ttl: 0 });
  expect(await peersAt(kept, 'a.test')).toEqual(['10.0.0.7:80']);
});

const faults = [
  { it: 'does not exist', records: undefined, says: '(3: Host not found)' },
  { it: 'has no address', records: {}, says: '(3: Host not found)' },
  { it: 'fails at its server', records: { fault: 2 }, says: '(2: Server failure)' },
  { it: 'is refused by its server', records: { fault: 5 }, says: '(5: Operation refused)' },
] as const;

for (const { it, records, says } of faults) {
  test(`a name that ${it} is a fault in nginx's words, and is asked for again`, async (t) => {
    const dns = await startDnsServer(t, records ? { 'a.test': records } : {});
    const { upstreams } = await openUpstreams(t, '');
    const hosts = upstreams.hosts(resolvingWith(dns));
    await expect(async () => hosts.group('a.test', 80)).rejects.toThrow(
      `a.test could not be resolved ${says}`,
    );
    const questions = dns.asked.length;
    await expect(async () => hosts.group('a.test', 80)).rejects.toThrow(
      `a.test could not be resolved ${says}`,
    );
    expect(dns.asked).toHaveLength(2 * questions);
  });
}

for (const name of ['a..b', '.', `${'a'.repeat(64)}.test`, 'a b', 'a\0b', 'ü.test', '-']) {
  test(`a name such as ${JSON.stringify(name).slice(0, 20)} is a fault, whatever the name server sends`, async (t) => {
    const dns = await startDnsServer(t, {});
    const { upstreams } = await openUpstreams(t, '');
    const hosts = upstreams.hosts(resolvingWith(dns));
    await expect(async () => hosts.group(name, 80)).rejects.toThrow(ResolveFault);
  });
}

test('a silent name server causes a timeout after resolver_timeout', async (t) => {
  const dns = await startDnsServer(t, { 'a.test': { fault: 'silent' } });
  const { upstreams } = await openUpstreams(t, '');
  const hosts = upstreams.hosts({ ...resolvingWith(dns), timeoutMs: 50 });
  await expect(async () => hosts.group('a.test', 80)).rejects.toThrow(
    'a.test could not be resolved (110: Operation timed out)',
  );
});

test('addresses of one family are used when the query for the other gets no answer', async (t) => {
  const dns = await startDnsServer(t, { 'a.test': { addresses: ['10.0.0.1'], silentAbout: 'AAAA' } });
  const { upstreams } = await openUpstreams(t, '');
  const hosts = upstreams.hosts({ ...resolvingWith(dns), timeoutMs: 200 });
  expect(await peersAt(hosts, 'a.test')).toEqual(['10.0.0.1:80']);
});

test('name servers that are not found are not replaced by those of the system', async (t) => {
  const { upstreams } = await openUpstreams(t, '');
  const servers = [{ host: 'nowhere.invalid', port: 53 }];
  const hosts = upstreams.hosts({ resolver: { servers, ipv4: true, ipv6: true }, timeoutMs: 5000 });
  await expect(async () => hosts.group('a.test', 80)).rejects.toThrow(
    'no name server of "resolver" was found',
  );
});

test('name servers may be given by name', async (t) => {
  const dns = await startDnsServer(t, { 'a.test': { addresses: ['10.0.0.1'] } });
  const { upstreams } = await openUpstreams(t, '');
  const servers = [{ host: 'localhost', port: dns.port }];
  const hosts = upstreams.hosts({ resolver: { servers, ipv4: true, ipv6: false }, timeoutMs: 5000 });
  expect(await peersAt(hosts, 'a.test')).toEqual(['10.0.0.1:80']);
});

test('the number of hosts kept for requests is bounded', async (t) => {
  const { upstreams } = await openUpstreams(t, '');
  const hosts = upstreams.hosts({ resolver: undefined, timeoutMs: 1000 });
  const first = hosts.group('10.0.0.1', 80);
  expect(hosts.group('10.0.0.1', 80)).toBe(first);
  for (let n = 0; n < 1000; n++) void hosts.group(`10.1.${n >> 8}.${n & 255}`, 80);
  expect(hosts.group('10.0.0.1', 80)).not.toBe(first);
});

test('a server with "resolve" follows its name: new addresses are added, old ones are removed, a silent name server changes nothing', async (t) => {
  const dns = await startDnsServer(t, { 'a.test': { addresses: ['10.0.0.2', '10.0.0.1'], ttl: 1 } });
  const { upstreams, logged } = await openUpstreams(
    t,
    `resolver 127.0.0.1:${dns.port} ipv6=off; upstream u { server a.test:81 resolve; }`,
  );
  const group = upstreams.find({ host: 'U', defaultPort: 80 }) as UpstreamGroup;
  expect(upstreams.groups[0]?.view().map(({ address }) => address)).toEqual(['10.0.0.1:81', '10.0.0.2:81']);
  dns.names.set('a.test', { fault: 2 });
  const told = (): string[] => logged.filter((line) => line.includes('could not be resolved'));
  const broken = 'a.test could not be resolved (2: Server failure)';
  await vi.waitFor(() => expect(told()).toEqual([broken]), 10_000);
  expect(upstreams.groups[0]?.view()).toHaveLength(2);
  dns.names.set('a.test', { addresses: ['10.0.0.3', '10.0.0.1'], ttl: 1 });
  await vi.waitFor(
    () =>
      expect(upstreams.groups[0]?.view().map(({ address }) => address)).toEqual([
        '10.0.0.1:81',
        '10.0.0.3:81',
      ]),
    10_000,
  );
  dns.names.delete('a.test');
  await vi.waitFor(() => expect(upstreams.groups[0]?.view()).toEqual([]), 10_000);
  expect(group.begin({}).next()).toBeUndefined();
  expect(told()).toEqual([broken, 'a.test could not be resolved (3: Host not found)']);
});

test('the number of names resolved at the same time is bounded', async (t) => {
  const dns = await startDnsServer(t, {});
  for (let n = 0; n <= 1000; n++) dns.names.set(`n${n}.test`, { fault: 'silent' });
  const { upstreams } = await openUpstreams(t, '');
  // All thousand are to wait at the same time, on a busy machine too.
  const hosts = upstreams.hosts({ ...resolvingWith(dns, { ipv6: false }), timeoutMs: 3_000 });
  const waiting = Array.from({ length: 1000 }, async (_, n) => hosts.group(`n${n}.test`, 80));
  const settled = Promise.allSettled(waiting);
  await expect(async () => hosts.group('n1000.test', 80)).rejects.toThrow('too many names are asked for');
  expect(new Set((await settled).map(({ status }) => status))).toEqual(new Set(['rejected']));
  dns.names.set('n1000.test', { addresses: ['10.0.0.1'] });
  expect(await peersAt(hosts, 'n1000.test')).toEqual(['10.0.0.1:80']);
});

test('SRV records give ports and weights, and which servers are backups', async (t) => {
  const dns = await startDnsServer(t, {
    '_http._tcp.a.test': {
      services: [
        { priority: 20, weight: 1, port: 83, target: 'c.test' },
        { priority: 10, weight: 3, port: 81, target: 'a.test' },
        { priority: 10, weight: 0, port: 82, target: 'b.test' },
      ],
    },
    'a.test': { addresses: ['10.0.0.1'] },
    'b.test': { addresses: ['10.0.0.2'] },
    'c.test': { addresses: ['10.0.0.3'] },
  });
  const { upstreams } = await openUpstreams(
    t,
    `upstream u { server a.test service=http resolve; resolver 127.0.0.1:${dns.port} ipv6=off; }`,
  );
  expect(upstreams.groups[0]?.view()).toMatchObject([
    { address: '10.0.0.1:81', weight: 3, backup: false },
    { address: '10.0.0.2:82', weight: 1, backup: false },
    { address: '10.0.0.3:83', weight: 1, backup: true },
  ]);
});

test('a name is resolved at the start by the system, IPv4 first', async (t) => {
  const { upstreams, logged } = await openUpstreams(t, 'upstream u { server localhost:81; }');
  expect(peersOf(upstreams.groups[0] as UpstreamGroup)[0]).toBe('127.0.0.1:81');
  expect(logged).toEqual([]);
});

test('a name that the system does not know is reported, and the other servers serve', async (t) => {
  const { upstreams, logged } = await openUpstreams(
    t,
    'upstream u {\n server nowhere.invalid;\n server 10.0.0.1:81; }',
  );
  expect(logged).toEqual(['host not found in upstream "nowhere.invalid" in gw.conf:2']);
  expect(peersOf(upstreams.groups[0] as UpstreamGroup)).toEqual(['10.0.0.1:81']);
});
