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
    it: 'past trusted ones',
    peer: '10.0.0.1',
    list: '1.1.1.1, 10.0.0.3, 10.0.0.2',
    plain: '10.0.0.2',
    recursive: '1.1.1.1',
  },
  {
    it: 'the first of trusted ones alone',
    peer: '10.0.0.1',
    list: '10.0.0.4 10.0.0.3',
    plain: '10.0.0.3',
    recursive: '10.0.0.4',
  },
  { it: 'nothing of a stranger', peer: '9.9.9.9', list: '1.1.1.1', plain: '', recursive: '' },
  { it: 'the client of a Unix socket', peer: '', list: '1.1.1.1', plain: '1.1.1.1', recursive: '1.1.1.1' },
  {
    it: 'an IPv4 proxy on an IPv6 socket',
    peer: '::ffff:10.0.0.1',
    list: '1.1.1.1',
    plain: '1.1.1.1',
    recursive: '1.1.1.1',
  },
  { it: 'no address of a list without any', peer: '10.0.0.1', list: ' ,, ', plain: '', recursive: '' },
  { it: 'nothing of an empty list', peer: '10.0.0.1', list: '', plain: '', recursive: '' },
  {
    it: 'what stands before something odd',
    peer: '10.0.0.1',
    list: '1.1.1.1, x, 10.0.0.2',
    plain: '10.0.0.2',
    recursive: '10.0.0.2',
  },
  {
    it: 'nothing before a list that begins with a comma',
    peer: '10.0.0.1',
    list: ',10.0.0.2',
    plain: '10.0.0.2',
    recursive: '10.0.0.2',
  },
  { it: 'no zone of an address', peer: '10.0.0.1', list: 'fe80::1%eth0', plain: '', recursive: '' },
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

test('whatever the list, the address is one of its own, and behind it stand trusted ones only', () => {
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
