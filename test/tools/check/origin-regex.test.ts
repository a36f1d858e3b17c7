import { expect, test } from 'vitest';
import { said } from './configured.ts';

const open: readonly (readonly [pattern: string, accepted: string])[] = [
  ['^https://example\\.com', 'https://example.com.evil.com'],
  ['example\\.com$', 'https://evilexample.com'],
  ['^https?://.*example\\.com$', 'http://evilexample.com'],
  ['^https://www.example.com$', 'https://wwwxexample.com'],
  ['^https://(www\\.)?example\\.com', 'https://example.com.evil.com'],
  ['^https?://localhost', 'http://localhost.evil.com'],
  ['example\\.com', 'http://example.com.evil.com'],
  ['shop\\.co\\.uk$', 'http://evilshop.co.uk'],
];
for (const [pattern, accepted] of open) {
  test(`a pattern for trusted sites ${pattern} accepts ${accepted}`, () => {
    const text = `map $http_origin $o { "~${pattern}" $http_origin; } server { listen 127.0.0.1:1; }`;
    expect(said(text, 'origin-regex')).toEqual([expect.stringMatching(/accepts "/) as string]);
    expect(new RegExp(pattern).test(accepted)).toBe(true);
  });
}

const closed = [
  '^https://example\\.com$',
  '^https://([a-z0-9-]+\\.)*example\\.com$',
  '^https://.*\\.example\\.com$',
  '^https?://(?:[^/]+\\.)?example\\.co\\.uk(:\\d+)?$',
  '.',
  '^https?://',
  '^https://(?!evil)',
  '^https?://(localhost|127\\.0\\.0\\.1)(:\\d+)?$',
  '^null$',
  '^https://example.com$',
];
for (const pattern of closed) {
  test(`a pattern for trusted sites ${pattern} accepts no other site, or every site`, () => {
    const text = `map $http_origin $o { "~${pattern}" $http_origin; } server { listen 127.0.0.1:1; }`;
    expect(said(text, 'origin-regex')).toEqual([]);
  });
}

const places: readonly (readonly [it: string, text: string, found: number])[] = [
  [
    'a condition that sets a header',
    'location / { if ($http_origin ~ example\\.com) { add_header A $http_origin; } }',
    1,
  ],
  [
    'a condition that refuses the others',
    'location / { if ($http_referer !~ example\\.com) { return 403; } }',
    1,
  ],
  [
    'a condition that refuses those that match',
    'location / { if ($http_referer ~ example\\.com) { return 403; } }',
    0,
  ],
  [
    'a condition on the host that redirects',
    'if ($host ~ example\\.com) { return 301 https://a.example; }',
    0,
  ],
];
for (const [it, text, found] of places)
  test(`a pattern for trusted sites in ${it} is ${found ? '' : 'not '}judged`, () =>
    expect(said(text, 'origin-regex')).toHaveLength(found));
