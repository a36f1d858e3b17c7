import { expect, test } from 'vitest';
import { printedAddress } from '../../src/worker/transport/admission.ts';

const cases: readonly [bytes: readonly number[], text: string][] = [
  [[127, 0, 0, 1], '127.0.0.1'],
  [[255, 254, 0, 128], '255.254.0.128'],
  [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 1, 2, 3], '10.1.2.3'],
  [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], '::1'],
  [[0x20, 1, 13, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xab, 0xcd], '2001:db8::abcd'],
  [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 0, 10, 1, 2, 3], '::ff00:a01:203'],
  [[], 'unix:'],
];

test.each(cases)('the address %j is printed as %s, as nginx does', (bytes, text) => {
  const { buffer } = Uint8Array.from(bytes);
  expect(printedAddress(buffer)).toBe(text);
  expect(printedAddress(buffer)).toBe(text);
});

test('each of many clients has its own text', () => {
  for (let client = 0; client < 5000; client++) {
    const bytes = [10, client >> 8, client & 0xff, 1];
    expect(printedAddress(Uint8Array.from(bytes).buffer)).toBe(bytes.join('.'));
  }
});
