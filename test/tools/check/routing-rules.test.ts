import { expect, test } from 'vitest';
import { Certificates } from '../../harness/certificates.ts';
import { check, load } from '../../../src/pipeline.ts';
import { problemsIn } from './configured.ts';

/** The findings of a rule for a configuration; none where it is in order. */
const CASES: readonly {
  readonly rule: string;
  readonly it: string;
  readonly conf: string;
  readonly says?: readonly string[];
}[] = [
  {
    rule: 'capture-missing',
    it: 'counts the groups of the location',
    conf: 'location ~ ^/(a)/(b)$ { return 200 "$2$3"; }',
    says: ['"$3" is used, but the pattern has 2 groups'],
  },
  {
    rule: 'capture-missing',
    it: 'counts named groups',
    conf: 'location ~ ^/(?<x>a)/(b)$ { return 200 "$2"; }',
  },
  {
    rule: 'capture-missing',
    it: 'looks at each pattern that may have matched',
    conf: 'location ~ ^/(a)$ { if ($arg_x ~ "(b)(c)") { return 200 "$2"; } return 200 "$3"; }',
    says: ['"$3" is used, but no pattern here has more than 2 groups'],
  },
  {
    rule: 'capture-missing',
    it: 'counts the groups of server names',
    conf: 'server { listen 8080; server_name "~^(a)\\.(b)$"; location / { root /srv/$2; } }',
  },
  {
    rule: 'capture-missing',
    it: 'accepts captures that another location has set',
    conf: 'location ~ ^/(a)/(b)$ { try_files $uri @x; }\nlocation @x { return 200 "$2"; }',
  },
  {
    rule: 'capture-missing',
    it: 'counts only the groups of the pattern of a rewrite for its target',
    conf: 'location ~ ^/(a)/(b)$ { rewrite ^/(.*)$ /$2 break; }',
    says: ['"$2" is used, but the pattern has 1 group'],
  },
  {
    rule: 'capture-missing',
    it: 'finds a group where there is no pattern',
    conf: 'location / { return 200 "$1"; }',
    says: ['"$1" is used, but no pattern here has a group'],
  },
  {
    rule: 'capture-missing',
    it: 'leaves dollars of other directives alone',
    conf: 'location / { proxy_pass http://127.0.0.1; proxy_redirect ~^/(.*)$ /$1; }',
  },
  {
    rule: 'no-default-server',
    it: 'accepts a first server for all names',
    conf: 'server { listen 80; server_name _; }\nserver { listen 80; server_name b; }',
  },
  {
    rule: 'no-default-server',
    it: 'reports a server once, whatever it listens on',
    conf: 'server { listen 80; listen [::]:80; server_name a; }\nserver { listen 80; listen [::]:80; server_name b; }',
    says: ['2 servers share 0.0.0.0:80, but none is "default_server"'],
  },
  {
    rule: 'no-default-server',
    it: 'accepts servers on sockets of their own',
    conf: 'server { listen 80; server_name a; }\nserver { listen 81; server_name b; }',
  },
  {
    rule: 'if-is-evil',
    it: 'accepts headers of a response',
    conf: 'location / { if ($request_method = OPTIONS) { add_header Allow GET; return 204; } }',
  },
  {
    rule: 'if-is-evil',
    it: 'accepts headers where nothing else of the location is lost',
    conf: 'location / { expires 1h; if ($arg_x) { add_header X y; expires 1d; } proxy_pass http://127.0.0.1; }',
  },
  {
    rule: 'if-is-evil',
    it: 'finds headers that replace those of the location, or another "if"',
    conf: 'location /a { add_header X y; if ($arg_x) { add_header Z z; } } location /b { if ($arg_x) { expires 1d; } if ($arg_y) { set $a 1; } }',
    says: [
      '"add_header" in "if" in a location is not reliable',
      '"expires" in "if" in a location is not reliable',
    ],
  },
  {
    rule: 'if-is-evil',
    it: 'names the first directive that is in doubt',
    conf: 'location / { if ($arg_x) { set $a 1; proxy_pass http://127.0.0.1; add_header X y; } }',
    says: ['"proxy_pass" in "if" in a location is not reliable'],
  },
  {
    rule: 'if-is-evil',
    it: 'does not count a rewrite that stays',
    conf: 'location / { try_files $uri =404; if ($arg_x) { rewrite ^ /a break; add_header X y; } }',
    says: ['"add_header" in "if" in a location is not reliable'],
  },
  {
    rule: 'map-no-default',
    it: 'takes a pattern for everything as a default',
    conf: 'http { map $host $site { a /a; ~. /b; } server { root $site; } }',
  },
  {
    rule: 'map-no-default',
    it: 'accepts a variable that an "if" tests first',
    conf: 'http { map $uri $new { /a /b; } server { if ($new) { return 301 $new; } } }',
  },
  {
    rule: 'map-no-default',
    it: 'accepts a directive in which an empty value does nothing',
    conf: 'http { map $uri $cache { /a public; } server { add_header Cache-Control $cache; } }',
  },
  {
    rule: 'map-no-default',
    it: 'finds a use in a nested location',
    conf: 'http { map $host $to { a b; } server { location / { location /a { proxy_pass http://$to; } } } }',
    says: ['map "$to" has no default: the variable is empty for all other values'],
  },
  {
    rule: 'try-files-proxy',
    it: 'accepts a status at the end as a gate',
    conf: 'location / { try_files $uri =404; proxy_pass http://127.0.0.1; }',
  },
  {
    rule: 'named-location-unused',
    it: 'knows references in the http block',
    conf: 'http { error_page 502 @down; server { location @down { return 503; } } }',
  },
  {
    rule: 'named-location-unused',
    it: 'does not confuse a name with that of another server',
    conf: 'http { server { error_page 404 @a; location @a { return 410; } } server { location @a { return 410; } } }',
    says: ['named location "@a" is never referred to'],
  },
  {
    rule: 'named-location-unused',
    it: 'knows that a variable may be any name',
    conf: 'server { listen 80; set $to @a; error_page 404 $to; location @a { return 410; } }',
  },
  {
    rule: 'server-if-host',
    it: 'leaves other conditions alone',
    conf: 'if ($hostname = a) { return 404; }\nif ($request_method = TRACE) { return 405; }',
  },
  {
    rule: 'regex-in-prefix',
    it: 'takes dots, brackets and stars of paths as they are',
    conf: 'location /v1.0/a.b { }\nlocation /items(1) { }\nlocation /*/x { }\nlocation /.well-known/ { }',
  },
  {
    rule: 'mixed-case-variable',
    it: 'leaves variables of gw alone',
    conf: 'return 200 "$Host$host$HTTP_x$http_X";',
  },
  {
    rule: 'unit-pitfall',
    it: 'takes hours, minutes and small numbers as seconds',
    conf: 'send_timeout 3600;\nclient_header_timeout 90;\nclient_body_timeout 900;\nkeepalive_timeout 1d;',
  },
  {
    rule: 'unit-pitfall',
    it: 'takes times that count milliseconds as such, unless they are too short for anything',
    conf: 'location /a { circuit_breaker_threshold 5; circuit_breaker_timeout 100; health_probe http://127.0.0.1/; health_probe_timeout 500; health_probe_interval 5; health_probe_slow_start 0; }',
    says: ['"health_probe_interval 5" means 5 milliseconds; did you mean "5s"?'],
  },
];

for (const { rule, it, conf, says = [] } of CASES) {
  test(`${rule} ${it}`, () => {
    expect(problemsIn(conf, rule).map(({ message }) => message)).toEqual(says);
  });
}

test('node-engine-only warns of uploads that the engine breaks off earlier than the file says', async () => {
  const severities = async (conf: string): Promise<unknown> => {
    const text = `http { server { listen 127.0.0.1:8080; ${conf} location / { return 204; } } }`;
    const loaded = load({ confFile: '/etc/gw/gw.conf', name: 'gw.conf', prefix: '/etc/gw', text });
    const found = await check(loaded, { rulesOnly: true });
    return found.filter(({ slug }) => slug === 'node-engine-only').map(({ severity }) => severity);
  };
  expect(await severities('client_body_timeout 60s;')).toEqual(['warning']);
  for (const conf of ['client_body_timeout 5s;', 'keepalive_timeout 65;'])
    expect(await severities(conf)).toEqual(['info']);
});

test('listen-conflict reports a server that speaks plain HTTP on a socket for TLS', () => {
  const certificates = new Certificates();
  certificates.authority('a');
  const own = `ssl_certificate ${certificates.path('a.crt')}; ssl_certificate_key ${certificates.path('a.key')};`;
  const first = `server { listen 8443 ssl; server_name a; ${own} }`;
  const plain = `${first}\nserver { listen 8443; server_name b; }`;
  const [found, ...others] = problemsIn(plain, 'listen-conflict');
  expect(found?.message).toBe('"listen" without "ssl" on 0.0.0.0:8443, which uses TLS');
  expect(others).toEqual([]);
  expect(problemsIn(`${first}\nserver { listen 8443; server_name b; ${own} }`, 'listen-conflict')).toEqual(
    [],
  );
  expect(problemsIn(`${first}\nserver { listen 8080; server_name b; }`, 'listen-conflict')).toEqual([]);
});
