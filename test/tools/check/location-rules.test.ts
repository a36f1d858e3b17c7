import { expect, test } from 'vitest';
import { said } from './configured.ts';

type Case = readonly [it: string, text: string, messages: readonly string[]];

const never = (location: string, reason: string): string => `location "${location}" never matches: ${reason}`;

const unreachable: readonly Case[] = [
  [
    'a regex behind a broader one',
    'location ~ ^/a {} location ~ ^/a/b {}',
    [never('~ ^/a/b', '"~ ^/a" wins for "/a/b"')],
  ],
  [
    'a regex behind two that share its URIs',
    'location ~ ^/a/x {} location ~ ^/a/y {} location ~ ^/a/[xy]$ {}',
    [never('~ ^/a/[xy]$', '"~ ^/a/x" wins for "/a/x"')],
  ],
  [
    'a regex whose URIs all lie below a prefix that stops',
    'location ^~ /a/ {} location ~ ^/a/.+\\.js$ {}',
    [never('~ ^/a/.+\\.js$', '"^~ /a/" wins for "/a/a.js"')],
  ],
  [
    'a regex that an exact location replaces',
    'location = /a {} location ~ ^/a$ {}',
    [never('~ ^/a$', '"= /a" wins for "/a"')],
  ],
  [
    'a prefix that a regex covers',
    'location /a/ {} location ~ ^/a {}',
    [never('/a/', '"~ ^/a" wins for "/a/"')],
  ],
  [
    'a prefix that a regex for everything covers',
    'location /a {} location ~ . {}',
    [never('/a', '"~ ." wins for "/a"')],
  ],
  [
    'a nested prefix that a regex further out covers',
    'location /a/ { location /a/b/ {} } location ~ ^/a/b {}',
    [never('/a/b/', '"~ ^/a/b" wins for "/a/b/"')],
  ],
  [
    'a nested regex that excludes the one around it',
    'location ~ \\.php$ { location ~ \\.html$ {} }',
    [never('~ \\.html$', 'no URI inside "~ \\.php$" has this form')],
  ],
  ['a regex for paths without a slash', 'location ~ ^api {}', [never('~ ^api', 'no URI has this form')]],
  [
    'a regex that goes on behind the end',
    'location ~ \\.png$/ {}',
    [never('~ \\.png$/', 'no URI has this form')],
  ],
  ['the same regex again', 'location ~ x {} location ~ x {}', [never('~ x', '"~ x" wins for "/x"')]],
  [
    'all that a location around it does not get, once',
    'location ~ . {} location /a/ { location /a/b {} }',
    [never('/a/b', '"~ ." wins for "/a/b"')],
  ],
];
for (const [it, text, messages] of unreachable)
  test(`unreachable is ${it}`, () => expect(said(text, 'unreachable-location')).toEqual(messages));

const reachable: readonly (readonly [it: string, text: string])[] = [
  ['a regex in front of a broader one', 'location ~ ^/a/b {} location ~ ^/a {}'],
  ['a regex that overlaps', 'location ~ \\.php$ {} location ~ ^/admin/ {}'],
  [
    'a regex below a prefix that stops and one that does not',
    'location ^~ /a/ {} location /a/b/ {} location ~ ^/a/.+\\.js$ {}',
  ],
  ['a prefix of which a regex takes a part', 'location /a/ {} location ~ \\.js$ {}'],
  ['a prefix that stops', 'location ^~ /a/ {} location ~ . {}'],
  ['a regex behind one with a look-around', 'location ~ ^/(?!b) {} location ~ ^/a {}'],
  [
    'a nested regex, which wins over those further out',
    'location /a/ { location ~ \\.js$ {} } location ~ . {}',
  ],
  ['an exact location', 'location = /a {} location ~ . {} location ^~ /a {}'],
  ['a named location', 'location @a {} location ~ . {}'],
  ['a regex that differs in case', 'location ~ ^/a {} location ~* ^/a {}'],
  [
    'a location of another server',
    'server { listen 127.0.0.1:8080; location ~ . {} } server { listen 127.0.0.1:8081; location ~ ^/a {} }',
  ],
];
for (const [it, text] of reachable)
  test(`reachable is ${it}`, () => expect(said(text, 'unreachable-location')).toEqual([]));

const SHADOWS = 'location ~* \\.(?:css|js)$ { expires 1h; }';
const shadowed: readonly (readonly [it: string, text: string, uri: string | undefined])[] = [
  ['a prefix with an alias', `location /f/ { alias /srv/f/; } ${SHADOWS}`, '/f/a.css'],
  ['a prefix without a slash at its end', `location /f { alias /srv/f; } ${SHADOWS}`, '/f/a.css'],
  [
    'a prefix that asks for a password',
    `location /f/ { auth_basic f; auth_basic_user_file /f; } ${SHADOWS}`,
    '/f/a.css',
  ],
  ['a prefix that refuses all clients', `location /f/ { deny all; } ${SHADOWS}`, '/f/a.css'],
  [
    'an application of its own',
    `location /grafana/ { proxy_pass http://127.0.0.1:1; } ${SHADOWS}`,
    '/grafana/a.css',
  ],
  ['a single file', `location /a.css { alias /srv/a.css; } ${SHADOWS}`, '/a.css'],
  ['no prefix that stops', `location ^~ /f/ { alias /srv/f/; } ${SHADOWS}`, undefined],
  [
    'no prefix with such a regex of its own',
    `location /f/ { alias /srv/f/; location ~ \\.(?:css|js)$ {} } ${SHADOWS}`,
    undefined,
  ],
  ['no prefix that responds like the regex', `location /f/ { expires 1d; } ${SHADOWS}`, undefined],
  ['no prefix with the same files', `root /srv; location /f/ { root /srv; } ${SHADOWS}`, undefined],
  ['no prefix of an interface', `location /api/v1/ { proxy_pass http://127.0.0.1:1; } ${SHADOWS}`, undefined],
  ['not the root', `location / { proxy_pass http://127.0.0.1:1; } ${SHADOWS}`, undefined],
  [
    'no prefix by a regex that refuses',
    'location /f/ { alias /srv/f/; } location ~ \\.bak$ { deny all; }',
    undefined,
  ],
  [
    'no prefix by a regex for a folder',
    'location /f/ { alias /srv/f/; } location ~ ^/f/.*\\.js$ { expires 1h; }',
    undefined,
  ],
  [
    'no prefix with the same upstream',
    'location /f/ { proxy_pass http://127.0.0.1:1; } location ~ \\.js$ { proxy_pass http://127.0.0.1:1; }',
    undefined,
  ],
];
for (const [it, text, uri] of shadowed) {
  test(`a regex for extensions shadows ${it}`, () => {
    const expected = uri === undefined ? [] : [expect.stringContaining(`"${uri}" goes to`) as string];
    expect(said(text, 'regex-shadows-prefix')).toEqual(expected);
  });
}

const order: readonly (readonly [it: string, text: string, found: number])[] = [
  [
    'is reported where only line breaks make a difference',
    'location ~ ^/d/.*$ {} location ~ ^/d/[^/]*\\.pdf$ {}',
    1,
  ],
  [
    'is not reported where the broader one is last',
    'location ~ ^/d/[^/]*\\.pdf$ {} location ~ ^/d/.*$ {}',
    0,
  ],
  ['is not reported for regexes that overlap', 'location ~ ^/d/ {} location ~ \\.pdf$ {}', 0],
];
for (const [it, text, found] of order)
  test(`the order of regexes ${it}`, () => expect(said(text, 'regex-order')).toHaveLength(found));
