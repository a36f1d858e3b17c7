import { expect, test } from 'vitest';
import { parseExpiry } from '../../../src/modules/headers/expires.ts';
import { startGateway } from '../../harness/gateway.ts';

const INVALID = '"expires" directive invalid value';
const DAY = 86_400;

const cases = [
  { text: '1h', is: { kind: 'access', seconds: 3600 } },
  { text: '+1h', is: { kind: 'access', seconds: 3600 } },
  { text: '-1h', is: { kind: 'access', seconds: -3600 } },
  { text: '1h', modified: true, is: { kind: 'modified', seconds: 3600 } },
  { text: '@15h30m', is: { kind: 'daily', seconds: 55_800 } },
  { text: '@24h', is: { kind: 'daily', seconds: DAY } },
  { text: '@25h', is: '"expires" directive daily time value must be less than 24 hours' },
  {
    text: '@1h',
    modified: true,
    is: '"expires" directive daily time cannot be used with "modified" parameter',
  },
  { text: 'max', modified: true, is: INVALID },
  { text: 'never', is: INVALID },
  { text: '500ms', is: INVALID },
  { text: '-', is: INVALID },
  { text: '', is: INVALID },
];

for (const { text, modified = false, is } of cases) {
  const words = `${modified ? 'modified ' : ''}${text}`;
  test(`expires reads "${words}" as ${JSON.stringify(is)}`, () => {
    expect(parseExpiry(text, modified)).toEqual(is);
  });
}

test('a daily expiry is within the next day, at that time by the local clock', async (t) => {
  const gw = await startGateway(t, 'server { location / { expires @2h30m; return 200 x; } }');
  const { headers } = await gw.fetch('/');
  const at = new Date(headers.get('expires') ?? '');
  expect([at.getHours(), at.getMinutes(), at.getSeconds()]).toEqual([2, 30, 0]);
  const [, maxAge] = /^max-age=(\d+)$/.exec(headers.get('cache-control') ?? '') ?? [];
  expect(Number(maxAge)).toBeGreaterThan(0);
  // A day on which the clock changes has 25 hours.
  expect(Number(maxAge)).toBeLessThanOrEqual(DAY + 3600);
});
