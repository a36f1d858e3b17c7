import { type GroupCase, testGroup } from './group-cases.ts';

const json = (what: string): string => `log_format f ${what};`;
const UNSAFE = 'GW906 "log_format f" writes JSON without "escape=json"';
const LOGGED = (name: string): string => `GW907 "$${name}" may contain a secret, and is logged`;

const CLUSTER = 'cluster main { backend redis://127.0.0.1; secret 0123456789abcdef; }';
const limitIn = (cluster: string, zone = '', used = 'limit_req zone=z;'): string =>
  `${cluster} limit_req_zone $uri zone=z:1m rate=1r/s ${zone}; server { location / { ${used} } }`;

const cases: readonly GroupCase[] = [
  { it: 'JSON in several words', conf: json(`'{' '"uri":"$uri"' '}'`), says: [UNSAFE] },
  { it: 'JSON with the escape of text', conf: json(`escape=default '{"uri": "$uri"}'`), says: [UNSAFE] },
  { it: 'JSON that nothing is escaped in', conf: json(`escape=none '{"uri": "$uri"}'`), says: [UNSAFE] },
  { it: 'JSON of numbers alone', conf: json(`'{"status":$status}'`), says: [] },
  { it: 'text with brackets', conf: json(`'[$time_local] {$status} "$request"'`), says: [] },
  {
    it: 'a cookie that may name a session',
    conf: json('$cookie_sessdata'),
    says: [LOGGED('cookie_sessdata')],
  },
  {
    it: 'a header that may have a token',
    conf: json("'$status ${http_x_token_of}'"),
    says: [LOGGED('http_x_token_of')],
  },
  {
    it: 'the body',
    conf: json("'$sent_http_set_cookie' '$request_body'"),
    says: [LOGGED('request_body')],
  },
  {
    it: 'a value that gw masks, or that gives no access',
    conf: json(
      "'$http_authorization $http_cookie $arg_token $request $cookie_theme $cookie_PHPSESSID $http_x_api_key'",
    ),
    says: [],
  },
  { it: 'no kept connections at all', conf: 'keepalive_requests 0;', says: [] },
  {
    it: 'one request for each connection',
    conf: 'keepalive_requests 1;',
    says: ['GW903 connections are closed after 1 request'],
  },
  {
    it: 'the shared directory with a slash',
    conf: 'proxy_temp_path /var/tmp/;',
    says: ['GW910 "proxy_temp_path /var/tmp" is a directory that all users share'],
  },
  { it: 'a limit where there is no cluster', conf: limitIn(''), says: [] },
  {
    it: 'a limit beside a cluster',
    conf: limitIn(CLUSTER),
    says: ['GW958 each gateway counts zone "z" separately'],
  },
  {
    it: 'a rate of nginz beside a cluster',
    conf: `${CLUSTER} server { listen 127.0.0.1:8081; location / { ratelimit_rate 10; return 204; } }`,
    says: ['GW958 each gateway counts "ratelimit_rate" separately'],
  },
  { it: 'a limit of the only cluster', conf: limitIn(CLUSTER, 'sync'), says: [] },
  { it: 'a limit that nothing uses', conf: limitIn(CLUSTER, '', 'return 204;'), says: [] },
  {
    it: 'clusters in one store with one namespace',
    conf: CLUSTER + CLUSTER.replace('main', 'other'),
    says: ['GW959 cluster "main" has the same store and namespace'],
  },
  {
    it: 'clusters in other databases of one store',
    conf: CLUSTER + CLUSTER.replace('main', 'other').replace('127.0.0.1', '127.0.0.1/1'),
    says: [],
  },
  { it: 'a directory in the shared one', conf: 'client_body_temp_path /tmp/gw 1 2;', says: [] },
];

testGroup('GW9', cases);
