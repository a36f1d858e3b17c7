import { expect, test } from 'vitest';
import { admits, HostPolicy, HostRefused, type Origin } from '../../src/upstream/index.ts';

const client: Origin = { by: 'client' };
const path: Origin = { by: 'path' };
const own: Origin = { by: 'configuration' };

const anyValue = { parts: [] };

/** Whether clients can influence the host of a value that consists of these pieces. */
const isOpen = (...values: readonly (readonly Origin[])[]): boolean =>
  HostPolicy.of(anyValue, undefined, () => values) !== undefined;

const values: readonly (readonly [it: string, values: readonly (readonly Origin[])[], open: boolean])[] = [
  ['is all of it', [[client]], true],
  ['is the host', [['http://', client]], true],
  ['is in front of a port', [['http://', client, ':8080']], true],
  ['follows text of the host', [['http://api-', client]], true],
  ['is in front of text of the host', [['http://', client, '.example']], true],
  ['is a path in the place of the host', [['http://', path]], true],
  ['ends a scheme', [['http:', client]], true],
  ['follows a scheme of the configuration', [[own, '://', client]], true],
  ['is an IPv6 address that has begun', [['http://[', client, ']']], true],
  ['is one of several', [['http://10.0.0.1:80'], ['http://', client]], true],
  ['is a store', [[client]], true],
  ['is a port', [['http://10.0.0.1:', client]], false],
  ['is the port of a store', [['10.0.0.1:', client]], false],
  ['is a path behind a slash', [['http://10.0.0.1/', client]], false],
  ['is a path behind the host', [['http://10.0.0.1', path]], false],
  ['is a path behind a host of the configuration', [['http://', own, path]], false],
  ['is text behind a host of the configuration', [['http://', own, client]], false],
  ['is behind an IPv6 address', [['http://[::1]:80', client]], false],
  ['is a database', [['redis://10.0.0.1/', client]], false],
  ['is nowhere', [['http://', own, ':80/']], false],
];
for (const [it, pieces, open] of values) {
  test(`a client ${open ? 'chooses the host' : 'does not choose the host'} where its text ${it}`, () =>
    expect(isOpen(...pieces)).toBe(open));
}

const local = HostPolicy.of(anyValue, undefined, () => [[client]])!;
const addresses: readonly (readonly [address: string, ok: boolean])[] = [
  ['127.0.0.1', false],
  ['127.255.255.254', false],
  ['169.254.169.254', false],
  ['0.0.0.0', false],
  ['::1', false],
  ['::', false],
  ['0:0:0:0:0:0:0:1', false],
  ['::ffff:127.0.0.1', false],
  ['::ffff:7f00:1', false],
  ['::ffff:169.254.169.254', false],
  ['::127.0.0.1', false],
  ['fe80::1', false],
  ['FEBF::1', false],
  ['10.0.0.1', true],
  ['128.0.0.1', true],
  ['169.253.0.1', true],
  ['::ffff:10.0.0.1', true],
  ['172.31.0.1', true],
  ['192.168.1.1', true],
  ['100.64.0.1', true],
  ['100.100.100.200', false],
  ['168.63.129.16', false],
  ['192.0.0.192', false],
  ['192.0.2.1', false],
  ['192.88.99.1', false],
  ['198.18.0.1', false],
  ['198.51.100.1', false],
  ['203.0.113.1', false],
  ['224.0.0.1', false],
  ['240.0.0.1', false],
  ['255.255.255.255', false],
  ['8.8.8.8', true],
  ['2606:4700::1', true],
  ['fd12:3456::1', true],
  ['fd00:ec2::254', false],
  ['fd00:0ec2:0:0::23', false],
  ['fd20:ce::254', false],
  ['2001:db8::1', false],
  ['3fff::1', false],
  ['2001:2::1', false],
  ['2001:20::1', false],
  ['100::1', false],
  ['5f00::1', false],
  ['fec0::1', false],
  ['ff02::1', false],
  ['64:ff9b::a9fe:a9fe', false],
  ['64:ff9b::127.0.0.1', false],
  ['64:ff9b::8.8.8.8', true],
  ['64:ff9b::10.0.0.1', true],
  ['64:ff9b:1::8.8.8.8', false],
  ['::ffff:0:127.0.0.1', false],
  ['2002:7f00:1::', false],
  ['2002:a9fe:a9fe::1', false],
  ['2001:0:7f00:1::f7f7:f7f7', false],
  ['2001:0:808:808::80ff:fffe', false],
  ['2606:4700::5efe:127.0.0.1', false],
  ['2606:4700::200:5efe:a9fe:a9fe', false],
  ['2606:4700::5efe:8.8.8.8', true],
  ['nonsense', false],
];
for (const [address, ok] of addresses) {
  test(`without a list a client ${ok ? 'may' : 'may not'} name a host at ${address}`, () =>
    expect(admits(local.addresses, address, 80)).toBe(ok));
}

test('a host that the configuration writes out is chosen by the operator', () => {
  const policy = HostPolicy.of(anyValue, undefined, () => [
    ['http://127.0.0.1:81/x'],
    ['http://LOCALHOST', client],
  ])!;
  expect(policy.settles({ host: '127.0.0.1', port: 81 }, 81)).toBe(true);
  expect(policy.settles({ host: 'localhost' }, 80)).toBe(true);
  expect(() => policy.settles({ host: '127.0.0.1', port: 82 }, 82)).toThrow(HostRefused);
  expect(policy.settles({ host: 'localhost', port: 82 }, 82)).toBe(false);
});
