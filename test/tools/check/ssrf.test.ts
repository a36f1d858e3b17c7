import { expect, test } from 'vitest';
import { said } from './configured.ts';

type Case = readonly [it: string, text: string];

const open: readonly Case[] = [
  ['is an argument', 'location / { proxy_pass http://$arg_host; }'],
  ['is in an argument that is a URL', 'location / { proxy_pass $arg_url; }'],
  ['is a header', 'location / { proxy_pass https://$http_x_backend/api; }'],
  ['is in front of a port', 'location / { proxy_pass http://$arg_host:8080/; }'],
  ['can be ended in front of the suffix', 'location / { proxy_pass http://$arg_host.internal/; }'],
  ['is a group of the path', 'location ~ ^/to/([^/]+)/ { proxy_pass http://$1; }'],
  [
    'is a named group that "set" passes on',
    'location ~ ^/to/(?<h>[^/]+) { set $b $h; proxy_pass http://$b; }',
  ],
  ['is the host of the request on a server that takes any', 'location / { proxy_pass http://$host; }'],
  ['begins with text', 'location / { proxy_pass http://api-$arg_host; }'],
];
for (const [it, text] of open) {
  test(`the upstream host of the client's ${it}`, () =>
    expect(said(`resolver 127.0.0.1; ${text}`, 'ssrf')).toHaveLength(1));
}

const stores: readonly Case[] = [
  ['is an argument, and a list is for upstreams', 'location / { proxy_allow_hosts a; kv_pass $arg_s; }'],
  ['is an argument', 'location / { kv_pass $arg_s; }'],
  ['is in front of a port', 'location / { kv_pass $arg_s:6379; }'],
  ['is in a URL', 'location / { kv_pass redis://$http_x_store/1; }'],
  ['is what "set" hands on', 'location / { set $s $cookie_s; kv_pass $s; }'],
];
for (const [it, text] of stores) {
  test(`the store of the client's ${it}`, () => expect(said(text, 'ssrf')).toHaveLength(1));
}

const closed: readonly Case[] = [
  ['where a list says which', 'proxy_allow_hosts *.internal; location / { proxy_pass http://$arg_host; }'],
  ['where a list says which stores', 'location / { kv_allow_hosts 10.0.0.0/8; kv_pass $arg_s; }'],
  ['where a store is fixed', 'location / { kv_pass 127.0.0.1:6379; kv_key $arg_k; }'],
  ['where a store has its port from the client', 'location / { kv_pass 127.0.0.1:$arg_p; }'],
  ['where a store has a database from the client', 'location / { kv_pass redis://127.0.0.1/$arg_db; }'],
  [
    'where a condition names the stores',
    'location / { if ($arg_s ~ ^(a|b)\\.internal$) { kv_pass $arg_s; } }',
  ],
  ['where it is fixed', 'location / { proxy_pass http://127.0.0.1:1$request_uri; }'],
  [
    'where it is a variable of the operator',
    'set $b b.example; location / { proxy_pass http://$b$request_uri; }',
  ],
  [
    'where a group has letters only and a suffix follows',
    'location ~ ^/to/([a-z]+)/ { proxy_pass http://$1.internal; }',
  ],
  ['where a group has digits for a port only', 'location ~ ^/to/(\\d+)/ { proxy_pass http://127.0.0.1:$1; }'],
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
  test(`the upstream host is not the client's ${it}`, () =>
    expect(said(`resolver 127.0.0.1; ${text}`, 'ssrf')).toEqual([]));

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
  test(`the upstream host ${it}`, () => {
    const text = `map $arg_host $b { ${lines} } server { listen 127.0.0.1:1; resolver 127.0.0.1; location / { proxy_pass http://$b; } }`;
    expect(said(text, 'ssrf')).toHaveLength(found);
  });
}

test('the upstream host of the request is one of the names where another server takes the rest', () => {
  const text =
    'server { listen 127.0.0.1:1; return 444; } server { listen 127.0.0.1:1; server_name a.example; resolver 127.0.0.1; location / { proxy_pass http://$host; } }';
  expect(said(text, 'ssrf')).toEqual([]);
});

test("the upstream host is not the client's alone where a subrequest decides about the request", () => {
  const text = 'resolver 127.0.0.1; location / { auth_request /ask; proxy_pass http://$arg_host; }';
  expect(said(text, 'ssrf')).toEqual([]);
});
