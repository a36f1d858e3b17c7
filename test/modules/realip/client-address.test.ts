import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Network, parseNetwork } from '../../../src/config/index.ts';
import { clientAddress, type Trusted } from '../../../src/modules/realip/index.ts';

const net = (text: string) => parseNetwork(text)?.network as Network;
const TRUSTED: Trusted = [net('10.0.0.0/8'), net('2001:db8::/32'), 'unix'];

const cases = [
  {
    it: 'the last address',
    peer: '10.0.0.1',
    list: '1.1.1.1, 2.2.2.2',
    plain: '2.2.2.2',
    recursive: '2.2.2.2',
  },
  {
    it: 'an address with its port',
    peer: '10.0.0.1',
    list: '1.1.1.1:80',
    plain: '1.1.1.1:80',
    recursive: '1.1.1.1:80',
  },
  {
    it: 'the last one before trusted addresses',
    peer: '10.0.0.1',
    list: '1.1.1.1, 10.0.0.3, 10.0.0.2',
    plain: '10.0.0.2',
    recursive: '1.1.1.1',
  },
  {
    it: 'the first address when all are trusted',
    peer: '10.0.0.1',
    list: '10.0.0.4 10.0.0.3',
    plain: '10.0.0.3',
    recursive: '10.0.0.4',
  },
  { it: 'unchanged for an untrusted peer', peer: '9.9.9.9', list: '1.1.1.1', plain: '', recursive: '' },
  { it: 'the client of a Unix socket', peer: '', list: '1.1.1.1', plain: '1.1.1.1', recursive: '1.1.1.1' },
  {
    it: 'an IPv4 proxy on an IPv6 socket',
    peer: '::ffff:10.0.0.1',
    list: '1.1.1.1',
    plain: '1.1.1.1',
    recursive: '1.1.1.1',
  },
  { it: 'unchanged for a list without an address', peer: '10.0.0.1', list: ' ,, ', plain: '', recursive: '' },
  { it: 'unchanged for an empty list', peer: '10.0.0.1', list: '', plain: '', recursive: '' },
  {
    it: 'the one after a malformed address',
    peer: '10.0.0.1',
    list: '1.1.1.1, x, 10.0.0.2',
    plain: '10.0.0.2',
    recursive: '10.0.0.2',
  },
  {
    it: 'the first one of a list that begins with a comma',
    peer: '10.0.0.1',
    list: ',10.0.0.2',
    plain: '10.0.0.2',
    recursive: '10.0.0.2',
  },
  {
    it: 'unchanged for an address with a zone',
    peer: '10.0.0.1',
    list: 'fe80::1%eth0',
    plain: '',
    recursive: '',
  },
];
for (const { it, peer, list, plain, recursive } of cases) {
  test(`the client's address is ${it}`, () => {
    for (const [isRecursive, expected] of [
      [false, plain],
      [true, recursive],
    ] as const) {
      const found = clientAddress(peer, list, { trusted: TRUSTED, recursive: isRecursive });
      const text = found ? `${found.address}${found.port === 0 ? '' : `:${found.port}`}` : '';
      expect(text, String(isRecursive)).toBe(expected);
    }
  });
}

test('the address is one of the list, and only trusted ones follow it', () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('10.1.2.3', '2001:db8::7', 'junk', ''));
  fc.assert(
    fc.property(
      fc.array(address, { maxLength: 6 }),
      fc.constantFrom(', ', ',', ' '),
      (addresses, separator) => {
        const list = addresses.join(separator);
        const found = clientAddress('10.0.0.1', list, { trusted: TRUSTED, recursive: true });
        if (!found) return;
        const nth = addresses.findLastIndex(
          (text) =>
            clientAddress('', text, { trusted: ['unix'], recursive: false })?.address === found.address,
        );
        expect(nth).toBeGreaterThanOrEqual(0);
        for (const later of addresses.slice(nth + 1)) {
          if (later !== '') expect(later).toMatch(/^10\.|^2001:0?db8:/i);
        }
      },
    ),
  );
});
