import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { translatePcre, type TranslatedRegex } from '../../src/config/regex/index.ts';
import { startRealNginx } from '../http/real-nginx.ts';
import { faults, matches, untranslatable } from './regex-cases.ts';
import { perTier } from '../harness/tier.ts';

function translated(pattern: string, caseless = false): TranslatedRegex {
  const result = translatePcre(pattern, { caseless });
  if ('fault' in result) throw new Error(`${result.fault} at ${result.offset} in ${pattern}`);
  return result;
}

const quote = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

/** One location per case, so that nginx itself shows whether a pattern matches the header and what its groups contain. */
const confirmable = matches.filter(({ subject, differs }) => !/[^ -~]/.test(subject) && !differs);
const nginx = await startRealNginx(
  confirmable
    .map(({ pattern, caseless }, i) => {
      const condition = `$http_x_subject ${caseless ? '~*' : '~'} ${quote(pattern)}`;
      return `location = /${i} { if (${condition}) { return 200 "yes|$1|$2|$3"; } return 200 no; }`;
    })
    .join('\n'),
);
afterAll(() => nginx?.stop());

for (const expected of matches) {
  const { pattern, caseless = false, subject, groups } = expected;
  const verdict = groups ? `gives ${JSON.stringify(groups)}` : 'does not match';
  test(`/${pattern}/${caseless ? ' without case' : ''} on ${JSON.stringify(subject)} ${verdict}`, async () => {
    const regex = translated(pattern, caseless);
    const match = new RegExp(regex.source).exec(subject);
    expect(match === null ? undefined : match.slice(1)).toEqual(groups);
    if (groups) expect(regex.groups).toBe(groups.length);
    const place = confirmable.indexOf(expected);
    if (!nginx || place === -1) return;
    const { body } = await nginx.get(`/${place}`, `X-Subject: ${subject}`);
    const [first = '', second = '', third = ''] = groups ?? [];
    expect(body).toBe(groups ? `yes|${first}|${second}|${third}` : 'no');
  });
}

for (const [pattern, fault, offset] of faults) {
  test(`the pattern ${JSON.stringify(pattern.slice(0, 40))} is refused: ${fault}`, () => {
    expect(translatePcre(pattern, { caseless: false })).toEqual({ fault, offset });
  });
}

test.each(untranslatable)(
  'the pattern %j names what has no equivalent: %s',
  (pattern, construct, caseless) => {
    expect(translatePcre(pattern, { caseless: caseless ?? false })).toMatchObject({
      fault: `PCRE construct ${construct} has no equivalent here`,
    });
  },
);

test('named groups are listed in order and work as JavaScript groups', () => {
  const regex = translated("^/(?<user>\\w+)/(?P<item>\\d+)(?'rest'.*)");
  expect(regex.names).toEqual(['user', 'item', 'rest']);
  expect({ ...new RegExp(regex.source).exec('/ann/12/x')?.groups }).toEqual({
    user: 'ann',
    item: '12',
    rest: '/x',
  });
});

test('a translated pattern is plain data and needs no flag', () => {
  const regex = translated('(?ims)^/a(b)?$', true);
  expect(structuredClone(regex)).toEqual(regex);
});

const pieces = fc.constantFrom(
  ...[...matches, ...faults.map(([pattern]) => ({ pattern }))].map(({ pattern }) => pattern),
);
const characters = fc.constantFrom(...'ab1()[]{}|\\^$.*+?-:=!<>PQEi,é😀');
const anyPattern = fc.oneof(
  fc.string(),
  fc.array(characters).map((list) => list.join('')),
  fc.array(pieces).map((list) => list.join('')),
);

test('whatever the pattern, it is refused with a place inside it or compiles', () => {
  fc.assert(
    fc.property(anyPattern, fc.boolean(), (pattern, caseless) => {
      const result = translatePcre(pattern, { caseless });
      if ('fault' in result) {
        expect(result.offset).toBeGreaterThanOrEqual(0);
        expect(result.offset).toBeLessThanOrEqual(pattern.length);
      } else {
        expect(new RegExp(result.source).exec('')?.length ?? result.groups + 1).toBe(result.groups + 1);
      }
    }),
    { numRuns: perTier({ short: 800, long: 3000 }) },
  );
});
