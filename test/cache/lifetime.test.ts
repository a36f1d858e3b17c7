import { expect, test } from 'vitest';
import { lifetimeOf, type LifetimeRules } from '../../src/cache/index.ts';

const NOW_MS = Date.UTC(2026, 0, 1);
const FAR_SECONDS = 315_360_000;

const rules = (ignored: readonly string[], validFor: number): LifetimeRules => ({
  ignores: (header) => ignored.includes(header),
  validFor: () => validFor,
});

const cases: readonly {
  it: string;
  headers: Readonly<Record<string, string>>;
  ignored?: readonly string[];
  valid?: number;
  /** Seconds; or why the response is not stored. */
  is: number | string;
}[] = [
  { it: 'nothing that says so', headers: {}, is: 'no lifetime' },
  { it: 'the configured time', headers: {}, valid: 60, is: 60 },
  { it: 'max-age', headers: { 'Cache-Control': 'max-age=10' }, valid: 60, is: 10 },
  { it: 's-maxage before max-age', headers: { 'Cache-Control': 'max-age=10, s-maxage=20' }, is: 20 },
  { it: 'a number too large', headers: { 'Cache-Control': 'max-age=99999999999999999999' }, is: FAR_SECONDS },
  { it: 'a max-age that is none', headers: { 'Cache-Control': 'max-age=ten' }, valid: 60, is: 'headers' },
  { it: 'private, whatever else', headers: { 'Cache-Control': 'max-age=10, private' }, is: 'headers' },
  {
    it: 'X-Accel-Expires before all',
    headers: { 'X-Accel-Expires': '5', 'Cache-Control': 'no-store' },
    is: 5,
  },
  {
    it: 'X-Accel-Expires 0',
    headers: { 'X-Accel-Expires': '0', 'Cache-Control': 'max-age=10' },
    is: 'headers',
  },
  { it: 'X-Accel-Expires at a time', headers: { 'X-Accel-Expires': `@${NOW_MS / 1000 + 7}` }, is: 7 },
  { it: 'Cache-Control before Expires', headers: { Expires: '0', 'Cache-Control': 'max-age=10' }, is: 10 },
  { it: 'an unreadable Expires', headers: { Expires: '0' }, valid: 60, is: 'headers' },
  {
    it: 'an ignored header',
    headers: { 'Cache-Control': 'no-store' },
    ignored: ['cache-control'],
    valid: 60,
    is: 60,
  },
  { it: 'a cookie', headers: { 'Set-Cookie': 'a=1', 'Cache-Control': 'max-age=10' }, is: 'set-cookie' },
  { it: 'an ignored cookie', headers: { 'Set-Cookie': 'a=1' }, ignored: ['set-cookie'], valid: 60, is: 60 },
  { it: 'Vary for everything', headers: { Vary: 'Accept, *' }, valid: 60, is: 'vary' },
  { it: 'a Vary that is too long', headers: { Vary: 'x'.repeat(129) }, valid: 60, is: 'vary' },
];

for (const { it, headers, ignored = [], valid = 0, is } of cases) {
  test(`the lifetime of a response by ${it}`, () => {
    const head = { status: 200, headers: Object.entries(headers).flat() };
    const lifetime = lifetimeOf(head, rules(ignored, valid), NOW_MS);
    const seen = typeof lifetime === 'string' ? lifetime : (lifetime.times.validMs - NOW_MS) / 1000;
    expect(seen).toBe(is);
  });
}

test('the names of a Vary are in lower case, sorted, each once', () => {
  const head = { status: 200, headers: ['Vary', 'X-B, accept', 'vary', 'Accept'] };
  expect(lifetimeOf(head, rules([], 60), NOW_MS)).toMatchObject({ varies: ['accept', 'x-b'] });
});

test('a response that has expired long ago may be stale for long enough', () => {
  const head = {
    status: 200,
    headers: ['X-Accel-Expires', '@1', 'Cache-Control', 'stale-while-revalidate=2140000000'],
  };
  const lifetime = lifetimeOf(head, rules([], 0), NOW_MS);
  expect(lifetime).toMatchObject({ times: { validMs: 1_000, updatingMs: 2_140_000_001_000 } });
});
