import { expect, test } from 'vitest';
import { check, load } from '../../../src/pipeline.ts';

/** Configurations of a server, and the URI for which its rewrites run in a circle. */
const CASES: readonly { readonly it: string; readonly conf: string; readonly loops?: string }[] = [
  {
    it: 'its own result matches again',
    conf: 'location /a/ { rewrite ^/a/(.*)$ /a/b/$1 last; }',
    loops: '/a/',
  },
  { it: 'there is no flag', conf: 'location /a { rewrite ^ /a/index; }', loops: '/a' },
  {
    it: 'two locations send requests to each other',
    conf: 'location /a { rewrite ^/a(.*) /b$1 last; }\nlocation /b { rewrite ^/b(.*) /a$1 last; }',
    loops: '/a',
  },
  {
    it: 'a regex location catches its own result',
    conf: 'location ~ ^/u/(\\d+) { rewrite ^/u/(\\d+) /u/$1/home last; }',
    loops: '/u/0',
  },
  {
    it: 'a nested location sends requests to itself',
    conf: 'location /a/ { location /a/b/ { rewrite ^/a/b/(.*)$ /a/b/c/$1 last; } }',
    loops: '/a/b/',
  },
  {
    it: 'a server has changed the URI before',
    conf: 'rewrite ^/old/(.*)$ /new/$1;\nlocation /new/ { rewrite ^/new/(.*)$ /new/x/$1 last; }',
    loops: '/new/',
  },
  {
    it: 'an "if" tests something that other clients do not send',
    conf: 'if ($host = b) { return 404; }\nlocation /a/ { if ($arg_x) { break; } rewrite ^/a/(.*)$ /a/b/$1 last; }',
    loops: '/a/',
  },
  { it: 'the location is left', conf: 'location /a { rewrite ^/a(.*) /b$1 last; }\nlocation /b { }' },
  { it: 'the request stays', conf: 'location /a/ { rewrite ^/a/(.*)$ /a/b/$1 break; }' },
  { it: 'it is a redirect', conf: 'location /a/ { rewrite ^/a/(.*)$ /a/b/$1 permanent; }' },
  { it: 'the result does not match again', conf: 'location /a/ { rewrite ^/a/x$ /a/y last; }' },
  {
    it: 'an "if" decides by something that clients cannot choose',
    conf: 'location /a/ { if ($scheme = http) { break; } rewrite ^/a/(.*)$ /a/b/$1 last; }',
  },
  { it: 'a variable is the target', conf: 'location /a/ { rewrite ^/a/(.*)$ /a/$arg_x/$1 last; }' },
  { it: 'a "return" stands in front', conf: 'location /a/ { return 204; rewrite ^/a/(.*)$ /a/b/$1 last; }' },
  { it: 'the server responds before', conf: 'return 204;\nlocation / { rewrite ^ /a last; }' },
  {
    it: 'the chain is only long',
    conf: Array.from(
      { length: 9 },
      (_, index) => `location = /${index} { rewrite ^ /${index + 1} last; }`,
    ).join('\n'),
  },
];

for (const { it, conf, loops } of CASES) {
  test(`rewrite rules ${loops === undefined ? 'are left alone' : 'run in a circle'} where ${it}`, async () => {
    const text = `http {\nserver {\nlisten 8080;\n${conf}\n}\n}\n`;
    const files = { confFile: '/etc/gw/gw.conf', name: 'gw.conf', prefix: '/etc/gw' };
    const found = (await check(load({ ...files, text }))).filter(({ rule }) => rule === 'GW213');
    const message = `"rewrite" runs in a loop for "${loops}": after 10 rounds the response is 500`;
    expect(found.map((finding) => finding.message)).toEqual(loops === undefined ? [] : [message]);
  });
}
