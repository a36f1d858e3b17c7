import { expect, test } from 'vitest';
import { addressBytes, contains } from '../../src/config/index.ts';
import { parseNetwork } from '../../src/config/network.ts';

const members = [
  { network: '10.0.0.0/8', address: '10.255.0.1', inside: true },
  { network: '10.0.0.0/8', address: '11.0.0.1', inside: false },
  { network: '192.168.7.128/25', address: '192.168.7.127', inside: false },
  { network: '192.168.7.128/25', address: '192.168.7.255', inside: true },
  { network: '127.0.0.1', address: '127.0.0.1', inside: true },
  { network: '127.0.0.1', address: '127.0.0.2', inside: false },
  { network: '0.0.0.0/0', address: '203.0.113.9', inside: true },
  { network: '0.0.0.0/0', address: '::1', inside: false },
  { network: '2001:db8::/33', address: '2001:db8:7fff::1', inside: true },
  { network: '2001:db8::/33', address: '2001:db8:8000::1', inside: false },
  { network: '10.0.0.0/8', address: '::ffff:10.1.2.3', inside: true },
];

test.each(members)('$address in $network is $inside', ({ network, address, inside }) => {
  const parsed = parseNetwork(network);
  const bytes = addressBytes(address);
  expect(parsed && bytes && contains(parsed.network, bytes)).toBe(inside);
});

const refused = [
  '10.0.0.0/33',
  '::/129',
  '10.0.0',
  '10.0.0.0/8/8',
  '10.0.0.0/',
  '10.0.0.0/x',
  'example.com',
  '1.2.3.256',
  '',
];

test.each(refused)('"%s" is not a network', (text) => expect(parseNetwork(text)).toBeUndefined());

test('a socket path is not an address', () => expect(addressBytes('unix:')).toBeUndefined());
