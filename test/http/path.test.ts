import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { decodeComponent, encodePath, isValidQuery, normalizePath, splitTarget } from '../../src/http/uri.ts';
import { type RealNginx, startRealNginx } from './real-nginx.ts';

/** Raw target → `$uri`, or `undefined` for 400, as in nginx. */
const recorded: readonly [raw: string, uri: string | undefined][] = [
  ['/', '/'],
  ['/a/b.c', '/a/b.c'],
  ['/a/', '/a/'],
  ["/-._~!$&'()*+,;=:@[]", "/-._~!$&'()*+,;=:@[]"],
  ['/%61%2D', '/a-'],
  ['/a%2Fb', '/a/b'],
  ['/a%2fb', '/a/b'],
  ['/%C3%A9', '/é'],
  ['/%F0%9F%98%80', '/😀'],
  ['/%3F%23%25', '/?#%'],
  ['/%252e%252e/a', '/%2e%2e/a'],
  ['/a+b', '/a+b'],
  ['/a"<>^`{|}b', '/a"<>^`{|}b'],
  ['/a%0d%0ab', '/a\r\nb'],
  ['/%09%1C%7F', '/\t\x1c\x7f'],
  ['/é', '/é'],
  ['/тест%0A', '/тест\n'],
  ['/a//b', '/a/b'],
  ['//', '/'],
  ['///a', '/a'],
  ['/a/.', '/a/'],
  ['/a/./b', '/a/b'],
  ['/./', '/'],
  ['/a/..', '/'],
  ['/a/../', '/'],
  ['/a/b/..', '/a/'],
  ['/a/b/../c', '/a/c'],
  ['/a/%2e%2E/b', '/b'],
  ['/a%2f..%2fb', '/b'],
  ['/a//../b', '/b'],
  ['/.well-known/x', '/.well-known/x'],
  ['/..a/...', '/..a/...'],
  ['/a/.../b', '/a/.../b'],
  ['/..', undefined],
  ['/../a', undefined],
  ['/a/../../b', undefined],
  ['/%2e%2e/etc/passwd', undefined],
  ['//..', undefined],
  ['/%00', undefined],
  ['/%', undefined],
  ['/%4', undefined],
  ['/%zz', undefined],
  ['/%%41', undefined],
];

/** Paths for which gw is stricter than nginx (reliability guard 2). */
const stricter = [
  '',
  '*',
  'a',
  '/a#b',
  '/a\\..\\b',
  '/a b',
  '/\x7f',
  '/\x1f',
  '/\ufffd',
  '/%C0%AE%C0%AE/a',
  '/%ED%A0%80',
  '/%FF',
  '/%C3',
  '/%F4%90%80%80',
];

const merging = await startRealNginx('location / { return 200 $uri; }');
const notMerging = await startRealNginx('merge_slashes off; location / { return 200 $uri; }');
afterAll(() => Promise.all([merging?.stop(), notMerging?.stop()]));

/** nginx only confirms the tables: without nginx, gw is still tested against them. */
async function confirm(nginx: RealNginx | undefined, raw: string, uri: string | undefined): Promise<void> {
  if (!nginx) return;
  const { head, body } = await nginx.get(Buffer.from(raw).toString('latin1'));
  expect(head.startsWith('HTTP/1.1 200') ? body : undefined).toBe(uri);
}

test.each(recorded)('the path %j becomes %j', async (raw, uri) => {
  expect(normalizePath(raw, true)).toBe(uri);
  await confirm(merging, raw, uri);
});

test.each(stricter)('the path %j is refused', (raw) => {
  expect(normalizePath(raw, true)).toBeUndefined();
});

test.each([
  ['//', '//'],
  ['/a//b', '/a//b'],
  ['/a//', '/a//'],
  ['/a//../b', '/a/b'],
  ['/a//..', '/a/'],
  ['//../..', undefined],
  ['/a/./b', '/a/b'],
])('the path %j becomes %j while merge_slashes is off', async (raw, uri) => {
  expect(normalizePath(raw, false)).toBe(uri);
  await confirm(notMerging, raw, uri);
});

const hostilePath = fc
  .array(fc.constantFrom('/', '.', '..', '%2e', '%2F', '//', 'a', '%41', '%C3%A9', '%25', '%', '#', '\\'))
  .map((pieces) => `/${pieces.join('')}`);

test('a normalised path has no dot segment and no double slash, and does not change when it is normalised again', () => {
  fc.assert(
    fc.property(hostilePath, (raw) => {
      const uri = normalizePath(raw, true);
      if (uri === undefined) return;
      expect(uri).toMatch(/^\/(?!\/)/);
      expect(uri).not.toMatch(/\/\/|\/\.\.?(?:\/|$)/);
      expect(normalizePath(encodePath(uri), true)).toBe(uri);
    }),
  );
});

test('a path of a megabyte is decided without backtracking', () => {
  expect(normalizePath(`/${'a/'.repeat(500_000)}`, true)).toHaveLength(1_000_001);
  expect(normalizePath(`/${'a'.repeat(1_000_000)}\x7f`, true)).toBeUndefined();
  expect(isValidQuery(`${'%41a'.repeat(250_000)}%`)).toBe(false);
});

test.each([
  ['/a?b=c', '/a', 'b=c'],
  ['/a?b?c', '/a', 'b?c'],
  ['/a', '/a', ''],
  ['/a/b/.#x', '/a/b/.', ''],
  ['/a#x?y', '/a', ''],
  ['/a?q=1#x', '/a', 'q=1'],
])('the target %j is the path %j and the query %j', (target, path, args) => {
  expect(splitTarget(target)).toEqual({ path, args });
});

describe('a query', () => {
  test.each([
    '',
    'a=1&b=%20%0A',
    'select=data->>name&tags=cs.{a,b}&id=in.("a","b\\"c")',
    'a[]=1&b=<^`|>',
    'u=http://a/b?c',
    "q='x'",
    'a=é',
  ])('is accepted as browsers and API clients send it: %j', (raw) => {
    expect(isValidQuery(raw)).toBe(true);
  });

  test.each(['a b', 'a#b', 'a=\t', 'a=\r\nb', 'a=\x7f', 'a=\ufffd', 'a=%', 'a=%4', 'a=%zz', 'a=\0'])(
    'is refused with %j',
    (raw) => {
      expect(isValidQuery(raw)).toBe(false);
    },
  );
});

test.each([
  ['/a/b.c', '/a/b.c'],
  ['/a b', '/a%20b'],
  ['/?#%', '/%3F%23%25'],
  ['/"<>\\^`{|}', '/%22%3C%3E%5C%5E%60%7B%7C%7D'],
  ['/\r\nX: y', '/%0D%0AX:%20y'],
  ['/é😀', '/%C3%A9%F0%9F%98%80'],
  ['/\x7f', '/%7F'],
  ["/!$&'()*+,-;=@[]_~", "/!$&'()*+,-;=@[]_~"],
])('the path %j is escaped as %j', (uri, escaped) => {
  expect(encodePath(uri)).toBe(escaped);
});

test.each([
  ['plain', 'plain'],
  ['a+b%20c', 'a+b c'],
  ['%E2%82%AC', '€'],
  ['%zz', undefined],
  ['%C0%80', undefined],
])('the component %j decodes to %j', (text, decoded) => {
  expect(decodeComponent(text)).toBe(decoded);
});
