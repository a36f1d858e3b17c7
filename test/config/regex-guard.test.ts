import { afterAll, beforeAll, expect, test } from 'vitest';
import { translatePcre } from '../../src/config/regex/index.ts';
import { startGateway, type Gateway } from '../harness/gateway.ts';

/** Each would take minutes on a long run of `a` in a backtracking engine. */
const patterns = ['(a+)+$', '(a|aa)+$', '(?:a|b|ab)*\\.php$', '([a-z]+)*$', '(?<n>a{1,8})+$', '(?i)(A+)+$'];
const cases = patterns.flatMap((pattern) => [
  { pattern, modifier: '~' },
  { pattern, modifier: '~*' },
]);
const numbered = cases.map(({ pattern, modifier }, i) => ({
  modifier,
  pattern: `^/${i}/${pattern}`,
  place: i,
}));

let gw: Gateway;
beforeAll(async () => {
  const locations = numbered.map(
    ({ modifier, pattern }) => `location ${modifier} "${pattern}" { return 200 regex; }`,
  );
  gw = await startGateway(
    { onTestFinished: afterAll },
    `server { location / { return 200 prefix; } ${locations.join(' ')} }`,
  );
});

for (const { modifier, pattern, place } of numbered) {
  test(`the location ${modifier} ${pattern} cannot hang a worker`, async () => {
    expect(translatePcre(pattern, { caseless: modifier === '~*' })).toMatchObject({ risk: 'guarded' });
    await gw.expect(`GET /${place}/${'a'.repeat(60)}-`, { status: 200, body: 'prefix' });
  });
}
