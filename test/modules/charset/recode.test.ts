import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recodingsOf } from '../../../src/modules/charset/recode.ts';

const recodings = recodingsOf([
  {
    from: 'koi8-r',
    to: 'UTF-8',
    bytes: { 0xc1: [0xd0, 0xb0], 0xc2: [0xd0, 0xb1], 0x95: [0xe2, 0x80, 0x93] },
  },
  { from: 'one', to: 'other', bytes: { 0xe0: [0xc1], 0x41: [0x42] } },
]);

function recode(names: string, pieces: readonly Uint8Array[]): Buffer {
  const recoding = recodings.get(names)?.open();
  if (!recoding) throw new Error(`there is no recoding ${names}`);
  const parts = [...pieces.map((piece) => recoding.write(piece)), recoding.end()];
  return Buffer.concat(parts as Uint8Array[]);
}

const cases = [
  { it: 'a byte becomes its character', names: 'koi8-r utf-8', from: [0xc1, 0x41], to: 'аA' },
  { it: 'a byte without a character becomes ?', names: 'koi8-r utf-8', from: [0xff], to: '?' },
  { it: 'a character becomes its byte', names: 'utf-8 koi8-r', from: 'абA–', to: [0xc1, 0xc2, 0x41, 0x95] },
  {
    it: 'a character without a byte becomes an entity',
    names: 'utf-8 koi8-r',
    from: 'я𝄞',
    to: '&#1103;&#119070;',
  },
  { it: 'malformed UTF-8 becomes ?', names: 'utf-8 koi8-r', from: [0x41, 0xff, 0x42], to: 'A?B' },
  {
    it: 'a byte becomes another byte',
    names: 'one other',
    from: [0xe0, 0x41, 0x43, 0xe1],
    to: [0xc1, 0x42, 0x43, 0x3f],
  },
  { it: 'a map goes both ways', names: 'other one', from: [0xc1, 0x42, 0xe0], to: [0xe0, 0x41, 0x3f] },
];

for (const { it, names, from, to } of cases) {
  test(`in a recoding, ${it}`, () => {
    expect(recode(names, [Buffer.from(from as string)])).toEqual(Buffer.from(to as string));
  });
}

test('a character that is split between two pieces stays whole', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'а', 'б', '–', '𝄞') }), fc.nat(40), (text, cut) => {
      const bytes = Buffer.from(text);
      const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)];
      expect(recode('utf-8 koi8-r', pieces)).toEqual(recode('utf-8 koi8-r', [bytes]));
    }),
  );
});
