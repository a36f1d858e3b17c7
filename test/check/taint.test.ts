import { describe, expect, test } from 'vitest';
import { problemsIn } from './configured.ts';

/** What a rule says of a configuration, by what it names in double quotes first. */
function said(text: string, rule: string): readonly string[] {
  return problemsIn(text, rule).map(({ message }) => message);
}

type Case = readonly [it: string, text: string];

describe('a line break of the client', () => {
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
    [
      'goes through a "set" on server level',
      'set $to $uri; location / { return 302 $scheme://a.example$to; }',
    ],
    [
      'goes through a "set" under a condition',
      'location / { set $to x; if ($arg_a) { set $to $uri; } return 302 /$to; }',
    ],
    ['is in a group of a negated class', 'location ~ ^/old/([^.]+)$ { return 301 /new/$1; }'],
    ['is in a named group', 'location ~ ^/old/(?<rest>[^.]+)$ { return 301 /new/$rest; }'],
    [
      'is in a named group that "set" hands on',
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
    ['is in the body', 'location / { add_header X-Body $request_body; }'],
  ];
  for (const [it, text] of open) test(it, () => expect(said(text, 'http-splitting')).toHaveLength(1));

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
      'is not in a group of what was sent raw',
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
      'is kept out by the condition',
      'location / { if ($uri ~ ^/[a-z]+$) { return 301 https://a.example$uri; } }',
    ],
    ['is not in what is set later to a text', 'location / { set $to $uri; set $to x; return 302 /$to; }'],
    ['is not in a group beside a look-around', 'location ~ ^/(?!a)([^.]+)$ { return 301 /new/$1; }'],
    ['is not claimed of internal locations', 'location /i { internal; proxy_pass http://127.0.0.1:1$uri; }'],
    [
      'is not claimed where another pattern may have matched',
      'location ~ ^/([^.]+)$ { if ($host ~ ^(a)) { set $x y; } return 301 /$1; }',
    ],
  ];
  for (const [it, text] of closed) test(it, () => expect(said(text, 'http-splitting')).toEqual([]));

  const maps: readonly (readonly [it: string, lines: string, found: number])[] = [
    ['in its default', 'default $uri;', 1],
    ['in a group of a line', '~^/a/(?<rest>[^.]+) /b/$rest;', 1],
    ['in a numbered group of a line', '~^/a/([^.]+) /b/$1;', 1],
    ['nowhere, where all values are texts', 'default /; ~^/a /b;', 0],
    ['nowhere, where its lines say what the path is', '~^/[a-z]+$ $uri; /b $uri;', 0],
  ];
  for (const [it, lines, found] of maps) {
    test(`is in a map ${it}`, () => {
      const text = `map $uri $to { ${lines} } server { listen 127.0.0.1:1; return 302 /$to; }`;
      expect(said(text, 'http-splitting')).toHaveLength(found);
    });
  }

  test('is shown with the places that it went through', () => {
    const [problem] = problemsIn('location / { set $a $uri; return 302 /$a; }', 'http-splitting');
    expect(problem?.message).toBe(
      '"$uri" can hold line breaks of the client\'s here: header "Location" can be split',
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
    test(`in ${value} is ${fixed === undefined ? 'left to the author' : 'mended'}`, () => {
      const [problem] = problemsIn(`location / { return 302 ${value}; }`, 'http-splitting');
      const [edit] = problem?.fix?.edits ?? [];
      const { text = '' } = edit?.span.source ?? {};
      const mended = edit && text.slice(0, edit.span.start) + edit.text + text.slice(edit.span.end);
      expect(mended?.includes(`return 302 ${fixed};`)).toBe(fixed === undefined ? undefined : true);
    });
  }
});

describe('the upstream host', () => {
  const open: readonly Case[] = [
    ['is an argument', 'location / { proxy_pass http://$arg_host; }'],
    ['is in an argument that is a URL', 'location / { proxy_pass $arg_url; }'],
    ['is a header', 'location / { proxy_pass https://$http_x_backend/api; }'],
    ['is in front of a port', 'location / { proxy_pass http://$arg_host:8080/; }'],
    ['can be ended in front of the suffix', 'location / { proxy_pass http://$arg_host.internal/; }'],
    ['is a group of the path', 'location ~ ^/to/([^/]+)/ { proxy_pass http://$1; }'],
    [
      'is a named group that "set" hands on',
      'location ~ ^/to/(?<h>[^/]+) { set $b $h; proxy_pass http://$b; }',
    ],
    ['is the host of the request on a server that takes any', 'location / { proxy_pass http://$host; }'],
    ['begins with text', 'location / { proxy_pass http://api-$arg_host; }'],
  ];
  for (const [it, text] of open) {
    test(`of the client's ${it}`, () => expect(said(`resolver 127.0.0.1; ${text}`, 'ssrf')).toHaveLength(1));
  }

  const closed: readonly Case[] = [
    ['where it is fixed', 'location / { proxy_pass http://127.0.0.1:1$request_uri; }'],
    [
      'where it is a variable of the operator',
      'set $b b.example; location / { proxy_pass http://$b$request_uri; }',
    ],
    [
      'where a group has letters only and a suffix follows',
      'location ~ ^/to/([a-z]+)/ { proxy_pass http://$1.internal; }',
    ],
    [
      'where a group has digits for a port only',
      'location ~ ^/to/(\\d+)/ { proxy_pass http://127.0.0.1:$1; }',
    ],
    [
      'where a guard names the hosts',
      'location / { if ($arg_host !~ ^(a|b)\\.internal$) { return 403; } proxy_pass http://$arg_host; }',
    ],
    [
      'where a condition names the hosts',
      'location / { if ($arg_host ~ ^(a|b)\\.internal$) { proxy_pass http://$arg_host; } }',
    ],
    [
      'where a condition names the host',
      'location / { if ($arg_host = a.internal) { proxy_pass http://$arg_host; } }',
    ],
    ['where the location is internal', 'location / { internal; proxy_pass http://$arg_host; }'],
  ];
  for (const [it, text] of closed)
    test(`is not the client's ${it}`, () => expect(said(`resolver 127.0.0.1; ${text}`, 'ssrf')).toEqual([]));

  const maps: readonly (readonly [it: string, lines: string, found: number])[] = [
    ["is not the client's where a map names the hosts", 'a a.internal; default b.internal;', 0],
    [
      "is not the client's where a map lets some through",
      '~^[a-z]+\\.internal$ $arg_host; default b.internal;',
      0,
    ],
    ["of the client's is the default of a map", 'a a.internal; default $arg_host;', 1],
  ];
  for (const [it, lines, found] of maps) {
    test(it, () => {
      const text = `map $arg_host $b { ${lines} } server { listen 127.0.0.1:1; resolver 127.0.0.1; location / { proxy_pass http://$b; } }`;
      expect(said(text, 'ssrf')).toHaveLength(found);
    });
  }

  test('of the request is one of the names where another server takes the rest', () => {
    const text =
      'server { listen 127.0.0.1:1; return 444; } server { listen 127.0.0.1:1; server_name a.example; resolver 127.0.0.1; location / { proxy_pass http://$host; } }';
    expect(said(text, 'ssrf')).toEqual([]);
  });
});

describe('a pattern for trusted sites', () => {
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
    test(`${pattern} accepts ${accepted}`, () => {
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
    test(`${pattern} accepts nobody else, or everybody`, () => {
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
    test(`in ${it} is ${found ? '' : 'not '}judged`, () =>
      expect(said(text, 'origin-regex')).toHaveLength(found));
});
