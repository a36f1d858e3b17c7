import { expect, test } from 'vitest';
import { readProxyPrefix } from '../../../src/worker/transport/node/preface-reader.ts';

const REST = 'GET / HTTP/1.1\r\n';
const SIGNATURE = '0d0a0d0a000d0a515549540a';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** Version 2: command and family, then the body. */
const binary = (kind: string, body: string): Buffer => {
  const content = hex(body);
  const length = content.length.toString(16).padStart(4, '0');
  return Buffer.concat([hex(SIGNATURE + kind + length), content, Buffer.from(REST)]);
};

const V4 = '0a000001 c0a80002 1f90 01bb';
const known = { address: '10.0.0.1', port: 8080, serverAddress: '192.168.0.2', serverPort: 443 };
const unknown = { address: '', port: 0, serverAddress: '', serverPort: 0, tlvs: [] };

test.each([
  ['version 1 over IPv4', 'PROXY TCP4 10.0.0.1 192.168.0.2 8080 443\r\n', { ...known, tlvs: [] }],
  [
    'version 1 over IPv6',
    'PROXY TCP6 2001:db8::1 ::1 8080 443\r\n',
    { ...known, address: '2001:db8::1', serverAddress: '::1', tlvs: [] },
  ],
  ['version 1 of a proxy that does not know', 'PROXY UNKNOWN what ever\r\n', unknown],
  ['version 2 over IPv4', binary('2111', V4), { ...known, tlvs: [] }],
  [
    'version 2 with fields',
    binary('2111', `${V4} 02 0003 612e62 ea 0001 7a`),
    {
      ...known,
      tlvs: [
        { type: 2, value: 'a.b' },
        { type: 234, value: 'z' },
      ],
    },
  ],
  [
    'version 2 over IPv6',
    binary('2121', `20010db8 00000000 00000000 00000001 ${'00'.repeat(15)}01 1f90 01bb`),
    { ...known, address: '2001:db8::1', serverAddress: '::1', tlvs: [] },
  ],
  ['version 2 of a health check', binary('2000', ''), unknown],
  ['version 2 over a Unix socket', binary('2131', '00'.repeat(216)), unknown],
])('%s is read, and what follows is left', (_, prefix, facts) => {
  const bytes = typeof prefix === 'string' ? Buffer.from(prefix + REST) : prefix;
  expect(readProxyPrefix(bytes)).toEqual({ facts, bytes: bytes.length - REST.length });
  for (let length = 0; length < bytes.length - REST.length; length++) {
    expect(readProxyPrefix(bytes.subarray(0, length))).toBe('incomplete');
  }
});

test.each([
  'GET / HTTP/1.1\r\n',
  'PROXY TCP4 10.0.0.1 192.168.0.2 8080\r\n',
  'PROXY TCP4 10.0.0.1 192.168.0.2 65536 443\r\n',
  'PROXY TCP4 2001::1 2001::2 1 2\r\n',
  'PROXY TCP5 10.0.0.1 192.168.0.2 1 2\r\n',
  `PROXY UNKNOWN ${'x'.repeat(200)}`,
  hex(`${SIGNATURE}3111 000c ${V4}`),
  hex(`${SIGNATURE}2511 000c ${V4}`),
  hex(`${SIGNATURE}2111 0004 0a000001`),
  hex(`${SIGNATURE}2111 000e ${V4} 0200`),
  hex(`${SIGNATURE}2111 000f ${V4} 02ffff`),
  hex(`${SIGNATURE}2111 ffff ${V4}`),
])('%j is no such header', (bytes) => {
  expect(readProxyPrefix(Buffer.from(bytes as string))).toBe('broken');
});
