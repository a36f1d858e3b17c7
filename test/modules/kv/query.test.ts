import { expect, test } from 'vitest';
import { percentDecode, rawParameter } from '../../../src/modules/kv/handler.ts';

const parameters = [
  { args: '', gives: undefined },
  { args: 'field=a', gives: 'a' },
  { args: 'x=1&field=a&field=b', gives: 'a' },
  { args: 'afield=1&fields=2', gives: undefined },
  { args: 'field', gives: undefined },
  { args: 'field=', gives: '' },
  { args: 'field=a=b', gives: 'a=b' },
  { args: '&&field=a&', gives: 'a' },
];
test.each(parameters)('finds field=$gives in "$args"', ({ args, gives }) => {
  expect(rawParameter(args, 'field')).toBe(gives);
});

const encoded = [
  { raw: 'plain', gives: 'plain' },
  { raw: 'a%2Cb', gives: 'a,b' },
  { raw: 'a+b', gives: 'a+b' },
  { raw: '%C3%BC', gives: 'ü' },
  { raw: '%zz%4', gives: Buffer.from('%zz%4') },
  { raw: '%ff%00a', gives: Buffer.from([255, 0, 97]) },
  { raw: 'ü%ff', gives: Buffer.from([0xc3, 0xbc, 0xff]) },
];
test.each(encoded)('decodes "$raw"', ({ raw, gives }) => {
  expect(percentDecode(raw)).toEqual(gives);
});
