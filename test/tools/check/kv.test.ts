import { type GroupCase, testGroup } from './group-cases.ts';

const open = (inside: string, location = '/v/'): string =>
  `server { listen 80; location ${location} { kv_pass 127.0.0.1:6379; ${inside} } }`;
const here = (inside: string): string => `server { listen 127.0.0.1:80; location /v/ { ${inside} } }`;

const ANY = 'GW704 clients can choose any key of the store';
const EMPTY = (name: string): string => `GW707 "$${name}" may be empty: all such requests share one key`;
const REMOTE = 'GW705 "kv_pass" reaches another machine without';

const cases: readonly GroupCase[] = [
  ...['set', 'del', 'incr', 'decr', 'expire', 'hset', 'hdel'].map((command) => ({
    it: `any client may ${command}`,
    conf: open(`kv_command ${command};`),
    says: [`GW701 "kv_command ${command}" can be called by anyone`],
  })),
  ...['get', 'exists', 'ttl', 'strlen', 'hget', 'ping'].map((command) => ({
    it: `any client may ${command} below a path`,
    conf: open(`kv_command ${command};`),
    says: [],
  })),
  {
    it: 'del handles DELETE too',
    conf: open('kv_command del; limit_except DELETE { deny all; }'),
    says: ['GW701 "kv_command del" can be called by anyone'],
  },
  { it: 'del without either', conf: open('kv_command del; limit_except GET { deny all; }'), says: [] },
  {
    it: 'flushall is refused by name',
    conf: here('kv_pass a:1; kv_command FLUSHALL;').replace('a:1', 'localhost:1'),
    says: ['GW703 "FLUSHALL" concerns the whole store and is not offered'],
  },
  { it: 'a misspelt command is not a dangerous one', conf: open('kv_command gte;'), says: [] },
  { it: 'the whole path is the key', conf: open('', '/'), says: [ANY] },
  { it: 'the whole path is the key, by its variable', conf: open('kv_key $uri;', '/'), says: [ANY] },
  { it: 'the path below a location is the key, by its variable', conf: open('kv_key $uri;'), says: [] },
  { it: 'an argument is the key', conf: open('kv_key $arg_key;'), says: [ANY] },
  { it: 'a capture by name is the key', conf: open('kv_key $k;', '~ ^/v/(?<k>.+)$'), says: [ANY] },
  { it: 'an argument has a text before it', conf: open('kv_key v:$1;', '~ ^/v/(.+)$'), says: [] },
  {
    it: 'a map decides on the key',
    conf: `map $arg_k $key { default a; b c; } ${open('kv_key $key;')}`,
    says: [],
  },
  {
    it: 'mget reads any keys that a request names',
    conf: open('kv_command mget;'),
    says: ['GW704 "kv_command mget" lets clients read any keys of the store'],
  },
  { it: 'ping takes no key', conf: open('kv_command ping;', '/'), says: [] },
  { it: 'no client from outside chooses', conf: here('kv_pass 127.0.0.1:1; kv_key $arg_key;'), says: [] },
  ...['127.0.0.1:6379', 'localhost', 'unix:/run/redis.sock', '[::1]:6379', '$arg_host:6379'].map(
    (address) => ({
      it: `"${address}" is not another machine, as far as is known`,
      conf: here(`kv_pass ${address}; kv_key k;`),
      says: [],
    }),
  ),
  {
    it: 'another machine',
    conf: here('kv_pass 10.0.0.9; kv_key k;'),
    says: [`${REMOTE} TLS and without a password`],
  },
  {
    it: 'another machine with TLS',
    conf: here('kv_pass rediss://cache.example; kv_key k;'),
    says: [`${REMOTE} a password`],
  },
  {
    it: 'another machine with a password',
    conf: here('kv_pass "redis://:${file:secret}@cache.example"; kv_key k;'),
    secret: 'p4ssw0rd',
    says: [`${REMOTE} TLS`],
  },
  {
    it: 'a store elsewhere whose certificate is not verified',
    conf: here('kv_pass "rediss://:${file:secret}@cache.example"; kv_key k; kv_ssl_verify off;'),
    secret: 'p4ssw0rd',
    says: ['GW710 "kv_pass" over TLS does not verify the certificate of the store'],
  },
  {
    it: 'a store whose host a request names, and whose certificate is not verified',
    conf: `kv_ssl_verify off; ${here('kv_allow_hosts cache.example; kv_pass rediss://$arg_host; kv_key k;')}`,
    says: ['GW710 "kv_pass" over TLS does not verify the certificate of the store'],
  },
  {
    it: 'a store of this machine, whose certificate need not be verified',
    conf: here('kv_pass rediss://127.0.0.1; kv_key k; kv_ssl_verify off;'),
    says: [],
  },
  {
    it: 'TLS settings for a store without TLS',
    conf: here('kv_pass 127.0.0.1; kv_key k; kv_ssl_name a; kv_ssl_server_name off;'),
    says: ['GW711 "kv_ssl_name" has no effect: the store is not reached over TLS'],
  },
  {
    it: 'TLS settings of a level that has another store, too',
    conf: `kv_ssl_name a; ${here('kv_pass 127.0.0.1; kv_key k;')}`,
    says: [],
  },
  {
    it: 'an upstream of this machine, and one with a server elsewhere',
    conf: `upstream near { server 127.0.0.1:1; server unix:/s; } upstream far { server 127.0.0.1:1; server 10.0.0.9:1; }
      ${here('kv_pass near; kv_key k;')} ${here('kv_pass far; kv_key k;')}`,
    says: [`${REMOTE} TLS and without a password`],
  },
  ...['arg_id', 'http_x_user', 'cookie_session'].map((name) => ({
    it: `"$${name}" is missing in the key`,
    conf: here(`kv_pass localhost:1; kv_key user:$${name};`),
    says: [EMPTY(name)],
  })),
  {
    it: 'a key that is empty as a whole is refused anyway',
    conf: here('kv_pass localhost:1; kv_key $arg_id;'),
    says: [],
  },
  {
    it: 'requests without the argument are refused by the server',
    conf: `server { listen 127.0.0.1:80; if ($arg_id = "") { return 400; }
      location /v/ { kv_pass localhost:1; kv_key user:$arg_id; } }`,
    says: [],
  },
  {
    it: 'the embedded store in two servers is reported once',
    conf: `${open('').replace('127.0.0.1:6379', 'embedded')} ${open('').replace('127.0.0.1:6379', 'embedded')}`,
    says: ['GW708 the embedded store is local to this machine'],
  },
];

testGroup('GW7', cases);
