import { expect, test } from 'vitest';
import { identifiersOfServer, readIdentifiers } from '../../../src/modules/acme/identifiers.ts';

const texts: readonly (readonly [text: string, identifiers: readonly string[] | 'no identifier'])[] = [
  ['example', ['example']],
  ['_example', ['_example']],
  ['exam_ple', ['exam_ple']],
  ['Example', ['example']],
  ['Example.', 'no identifier'],
  ['E\u0010ample', 'no identifier'],
  ['00.example.test', ['00.example.test']],
  ['www1.example.Test', ['www1.example.test']],
  ['www.example..test', 'no identifier'],
  ['пример.испытание', 'no identifier'],
  ['xn--e1afmkfd.xn--80akhbyknj4f', ['xn--e1afmkfd.xn--80akhbyknj4f']],
  ['*', 'no identifier'],
  ['*.example.test', ['*.example.test']],
  ['*ww.example.test', 'no identifier'],
  ['ww*.example.test', 'no identifier'],
  ['www.example.*', 'no identifier'],
  ['', 'no identifier'],
  ['*.', 'no identifier'],
  ['.example.test', ['example.test', 'www.example.test']],
  ['192.0.2.1', ['192.0.2.1']],
  ['2001:DB8:0:0::1', ['2001:db8::1']],
  ['[2001:db8::1]', ['2001:db8::1']],
  ['fe80::1%eth0', 'no identifier'],
  [`${'a'.repeat(64)}.test`, 'no identifier'],
  [`${'a.'.repeat(126)}ab`, 'no identifier'],
];

for (const [text, identifiers] of texts) {
  test(`"${text}" is ${identifiers === 'no identifier' ? identifiers : identifiers.join(' and ')}`, () => {
    const read = readIdentifiers(text);
    expect('fault' in read ? 'no identifier' : read.map(({ value }) => value)).toEqual(identifiers);
  });
}

test('the names of a server are identifiers, but for those that no certificate has', () => {
  const { identifiers, skipped } = identifiersOfServer([
    { kind: 'exact', name: 'a.test' },
    { kind: 'exact', name: 'example.test' },
    { kind: 'leading wildcard', suffix: '.example.test', hasBare: true },
    { kind: 'exact', name: 'b.test' },
    { kind: 'leading wildcard', suffix: '.b.test' },
    { kind: 'trailing wildcard', prefix: 'www.' },
    { kind: 'exact', name: '' },
    { kind: 'exact', name: '_' },
    { kind: 'exact', name: '192.0.2.1' },
  ]);
  expect(identifiers.map(({ type, value }) => `${type} ${value}`)).toEqual([
    'dns a.test',
    'dns example.test',
    'dns www.example.test',
    'dns b.test',
    'dns *.b.test',
    'ip 192.0.2.1',
  ]);
  expect(skipped.map(({ name }) => name)).toEqual(['www.*']);
});
