import { testRule } from './findings-in.ts';

const inHttp = { in: 'http' } as const;
const inLocation = { in: 'location' } as const;
const asked = (host: string): string =>
  `"proxy_pass" has to look up "${host}" for each request, but there is no "resolver"`;
const GROUP = 'upstream app { server 127.0.0.1:1; keepalive 4; }';

testRule('missing-resolver', [
  {
    it: 'finds a name before a variable path',
    ...inLocation,
    text: 'proxy_pass http://api.internal$request_uri;',
    says: [asked('api.internal')],
  },
  {
    it: 'finds a whole URL in a variable',
    ...inLocation,
    text: 'set $to https://api.internal:8443/v1;\nproxy_pass $to;',
    says: [asked('api.internal:8443')],
  },
  {
    it: 'finds a host that only requests know',
    ...inLocation,
    text: 'proxy_pass http://$host;',
    says: [asked('$host')],
  },
  {
    it: 'finds the value of a map that is no group',
    ...inHttp,
    text: `map $arg_a $to { default app; b api.internal; }\n${GROUP}\nserver { location / { proxy_pass http://$to; } }`,
    says: [asked('api.internal')],
  },
  {
    it: 'keeps the values of two locations apart',
    ...inHttp,
    text: `${GROUP}\nserver { location /a { set $to app; proxy_pass http://$to; } location /b { resolver 10.0.0.2; set $to api.internal; proxy_pass http://$to; } }`,
  },
  {
    it: 'knows the value of an "if" and of the server around',
    ...inHttp,
    text: `${GROUP}\nserver { set $to app; location /a { if ($arg_b) { set $to api.internal; } proxy_pass http://$to; } location /b { proxy_pass http://$to; } }`,
    says: [asked('api.internal')],
  },
  {
    it: 'knows the value of a location that leads to another',
    ...inHttp,
    text: `${GROUP}\nserver { location /a { set $to api.internal; rewrite ^ /b last; } location /b { proxy_pass http://$to; } }`,
    says: [asked('api.internal')],
  },
  {
    it: 'knows groups of a map',
    ...inHttp,
    text: `map $arg_a $to { default app; b 127.0.0.1:2; }\n${GROUP}\nserver { location / { proxy_pass http://$to$request_uri; } }`,
  },
  {
    it: 'knows groups of split_clients and of a variable in a variable',
    ...inHttp,
    text: `split_clients $remote_addr $part { 5% app; * 127.0.0.1:2; }\nmap $arg_a $to { default $part; }\n${GROUP}\nserver { location / { proxy_pass http://$to; } }`,
  },
  {
    it: 'leaves open what a request may choose among groups',
    ...inHttp,
    text: `${GROUP}\nserver { location ~ ^/(?<name>[a-z]+)/ { proxy_pass http://$name; } }`,
  },
  { it: 'accepts an address', ...inLocation, text: 'proxy_pass http://127.0.0.1:9000$request_uri;' },
  { it: 'accepts an address of IPv6', ...inLocation, text: 'proxy_pass http://[::1]:9000$request_uri;' },
  { it: 'accepts a socket', ...inLocation, text: 'proxy_pass http://unix:/run/app.sock:$request_uri;' },
  {
    it: 'accepts an address that a capture follows',
    text: 'location ~ ^/a(/.*)$ { set $to 127.0.0.1:9000; proxy_pass http://$to$1; }',
  },
  {
    it: 'finds a name with a port that a capture follows',
    text: 'location ~ ^/a(/.*)$ { proxy_pass http://api.internal:9000$1; }',
    says: [asked('api.internal:9000$1')],
  },
  {
    it: 'finds a name that requests end',
    text: 'location ~ ^/(?<service>[a-z]+)/ { proxy_pass http://$service.internal:81; }',
    says: [asked('$service.internal:81')],
  },
  { it: 'leaves open what may be an address', ...inLocation, text: 'proxy_pass http://$cookie_server:81;' },
  { it: 'accepts an address in a variable', ...inLocation, text: 'proxy_pass http://$server_addr:81;' },
]);

testRule('static-dns', [
  {
    it: 'finds servers of a group',
    ...inHttp,
    text: 'upstream app { server a.internal:81; server 10.0.0.1; server unix:/a; server b.internal down; }',
    says: ['"a.internal" is looked up only once, at the start'],
  },
  {
    it: 'does not print a value of the environment',
    ...inLocation,
    text: 'proxy_pass http://${env:NOT_SET:-a.internal}:81;',
    says: ['"http://${env:NOT_SET:-a.internal}:81" is looked up only once, at the start'],
  },
  {
    it: 'names a host once',
    text: 'location /a/ { proxy_pass http://a.internal:81; }\nlocation /b/ { proxy_pass http://a.internal:82; }',
    says: ['"a.internal" is looked up only once, at the start'],
  },
  { it: 'accepts this machine', ...inLocation, text: 'proxy_pass http://localhost:81;' },
  {
    it: 'accepts a variable',
    ...inLocation,
    text: 'resolver 10.0.0.1;\nproxy_pass http://a.internal$request_uri;',
  },
]);

testRule('resolver-external', [
  {
    it: 'knows ports and IPv6',
    text: 'resolver 1.1.1.1:53 [2001:4860:4860::8888] 10.0.0.1 valid=10s;',
    says: ['"1.1.1.1" is a public name server', '"2001:4860:4860::8888" is a public name server'],
  },
  { it: 'accepts one that is asked for OCSP only', text: 'resolver 8.8.8.8; ssl_stapling on;' },
  {
    it: 'finds one that is asked for upstreams, too',
    text: 'resolver 8.8.8.8; ssl_stapling on; location / { proxy_pass http://$arg_a; }',
    says: ['"8.8.8.8" is a public name server'],
  },
  { it: 'accepts other networks', text: 'resolver 127.0.0.11 169.254.169.253 8.8.9.9 ipv6=off;' },
]);
