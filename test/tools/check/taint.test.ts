import { expect, test } from 'vitest';
import { problemsIn, said } from './configured.ts';

type Case = readonly [it: string, text: string];

const open: readonly Case[] = [
  ['comes in by the decoded path', 'location / { return 302 https://a.example$uri; }'],
  ['comes in by another name of the path', 'location / { add_header X-Path $document_uri; }'],
  ['comes in on server level', 'return 301 https://$host$uri;'],
  ['comes in by a URL alone', 'location / { return https://a.example$uri; }'],
  ['comes in by a redirecting rewrite', 'location / { rewrite ^ https://a.example$uri permanent; }'],
  [
    'goes to the upstream in a header',
    'location / { proxy_set_header X-Path $uri; proxy_pass http://127.0.0.1:1; }',
  ],
  ['goes to the upstream in the request line', 'location / { proxy_pass http://127.0.0.1:1$uri; }'],
  ['goes through "set"', 'location / { set $to $uri; return 302 https://a.example$to; }'],
  ['goes through two variables', 'location / { set $a $uri; set $b x$a; return 302 /$b; }'],
  ['goes through a "set" on server level', 'set $to $uri; location / { return 302 $scheme://a.example$to; }'],
  [
    'goes through a "set" under a condition',
    'location / { set $to x; if ($arg_a) { set $to $uri; } return 302 /$to; }',
  ],
  ['is in a group of a negated class', 'location ~ ^/old/([^.]+)$ { return 301 /new/$1; }'],
  ['is in a named group', 'location ~ ^/old/(?<rest>[^.]+)$ { return 301 /new/$rest; }'],
  [
    'is in a named group that "set" passes on',
    'location ~ ^/old/(?<rest>[^.]+)$ { set $to $rest; return 301 /new/$to; }',
  ],
  [
    'is in a group of a condition on the path',
    'location / { if ($uri ~ ^/old/([^x]+)) { return 301 /new/$1; } }',
  ],
  [
    'is let through by an unrelated guard',
    'location / { if ($uri ~ ^/x) { return 403; } return 301 https://a.example$uri; }',
  ],
  [
    'is let through by a guard on one way to write its escape',
    'if ($request_uri ~ %0a) { return 403; } location / { return 301 https://a.example$uri; }',
  ],
  ['is in the body', 'location / { add_header X-Body $request_body; }'],
];
for (const [it, text] of open)
  test(`a line break of the client ${it}`, () => expect(said(text, 'http-splitting')).toHaveLength(1));

const closed: readonly Case[] = [
  ['is not in the path as it was sent', 'location / { return 302 https://a.example$request_uri; }'],
  ['is not in arguments', 'location / { return 302 https://a.example/?$args&b=$arg_b; }'],
  [
    'is not in headers',
    'location / { add_header X-Agent $http_user_agent; proxy_set_header X-C $cookie_c; proxy_pass http://127.0.0.1:1; }',
  ],
  ['is not in the path of an exact location', 'location = /a { return 301 https://a.example$uri; }'],
  [
    'is not where the location has no room for it',
    'location ~ ^/[a-z]+$ { return 301 https://a.example$uri; }',
  ],
  ['is not in a group of dots', 'location ~ ^/old/(.*)$ { return 301 /new/$1; }'],
  ['is escaped in a rewrite', 'location / { rewrite ^/old/([^.]+)$ /new/$1 permanent; }'],
  ['is escaped in "set"', 'location ~ ^/old/([^.]+)$ { set $to $1; return 301 /new/$to; }'],
  ['does no harm in a body', 'location / { return 200 $uri; }'],
  [
    'does no harm in a path that is encoded again',
    'location / { rewrite ^/([^.]*)$ /b/$1 break; proxy_pass http://127.0.0.1:1; }',
  ],
  [
    'is not in a group of the raw URI',
    'location / { if ($request_uri ~ "^/a/([^?]*)") { return 301 /b/$1; } }',
  ],
  [
    'is kept out by a guard',
    'location / { if ($uri ~ "[\\r\\n]") { return 400; } return 301 https://a.example$uri; }',
  ],
  [
    'is kept out by a guard the other way round',
    'location / { if ($uri !~ "^[a-z/]+$") { return 400; } return 301 https://a.example$uri; }',
  ],
  [
    'is kept out by a guard on its escapes',
    'if ($request_uri ~* "%0a|%0d") { return 403; } location / { return 301 https://a.example$uri; }',
  ],
  [
    'is kept out by the condition',
    'location / { if ($uri ~ ^/[a-z]+$) { return 301 https://a.example$uri; } }',
  ],
  [
    'is not in a variable that is later set to a text',
    'location / { set $to $uri; set $to x; return 302 /$to; }',
  ],
  ['is not in a group beside a look-around', 'location ~ ^/(?!a)([^.]+)$ { return 301 /new/$1; }'],
  [
    'is not claimed where no request ever gets to',
    'location ^~ /a { return 204; } location ~ ^/a { if ($arg_x) { return 301 https://a.example$uri; } }',
  ],
  ['is not claimed of internal locations', 'location /i { internal; proxy_pass http://127.0.0.1:1$uri; }'],
  [
    'is not claimed where another pattern may have matched',
    'location ~ ^/([^.]+)$ { if ($host ~ ^(a)) { set $x y; } return 301 /$1; }',
  ],
];
for (const [it, text] of closed)
  test(`a line break of the client ${it}`, () => expect(said(text, 'http-splitting')).toEqual([]));

const maps: readonly (readonly [it: string, lines: string, found: number])[] = [
  ['in its default', 'default $uri;', 1],
  ['in a group of a line', '~^/a/(?<rest>[^.]+) /b/$rest;', 1],
  ['in a numbered group of a line', '~^/a/([^.]+) /b/$1;', 1],
  ['nowhere, where all values are texts', 'default /; ~^/a /b;', 0],
  ['nowhere, where its lines say what the path is', '~^/[a-z]+$ $uri; /b $uri;', 0],
];
for (const [it, lines, found] of maps) {
  test(`a line break of the client is in a map ${it}`, () => {
    const text = `map $uri $to { ${lines} } server { listen 127.0.0.1:1; return 302 /$to; }`;
    expect(said(text, 'http-splitting')).toHaveLength(found);
  });
}

test('a line break of the client is shown with the places that it went through', () => {
  const [problem] = problemsIn('location / { set $a $uri; return 302 /$a; }', 'http-splitting');
  expect(problem?.message).toBe(
    '"$uri" can contain line breaks from the client: header "Location" can be split',
  );
  expect(problem?.related?.map(({ label }) => label)).toEqual(['"$a" gets it here']);
});

const fixes: readonly (readonly [value: string, fixed: string | undefined])[] = [
  ['https://a.example$uri', 'https://a.example$request_uri'],
  ['https://$host$uri$is_args$args', 'https://$host$request_uri'],
  ['"https://a.example$uri?$args"', '"https://a.example$request_uri"'],
  ['https://a.example/x?u=$uri&v=1', undefined],
];
for (const [value, fixed] of fixes) {
  test(`a line break of the client in ${value} is ${fixed === undefined ? 'left to the author' : 'mended'}`, () => {
    const [problem] = problemsIn(`location / { return 302 ${value}; }`, 'http-splitting');
    const [edit] = problem?.fix?.edits ?? [];
    const { text = '' } = edit?.span.source ?? {};
    const mended = edit && text.slice(0, edit.span.start) + edit.text + text.slice(edit.span.end);
    expect(mended?.includes(`return 302 ${fixed};`)).toBe(fixed === undefined ? undefined : true);
  });
}
