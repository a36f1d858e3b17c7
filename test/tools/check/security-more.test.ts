import { testRule } from './findings-in.ts';

const inHttp = { in: 'http' } as const;
const inLocation = { in: 'location' } as const;

testRule('dotfiles-served', [
  {
    it: 'adds a location that refuses them',
    ...inHttp,
    files: { 'site/.git/config': '', 'site/.env': '' },
    text: 'server {\n    listen 80;\n    root site;\n}',
    says: ['".git" and ".env" below this root can be downloaded by anyone'],
    fixed: 'server {\n    listen 80;\n    root site;\n    location ~ /\\.(?!well-known/) { return 404; }\n}',
  },
  {
    it: 'knows which of them are refused',
    ...inHttp,
    files: { 'site/.git/config': '', 'site/.env': '' },
    text: 'server { listen 80; root site; location ~ /\\.git { deny all; } }',
    says: ['".env" below this root can be downloaded by anyone'],
  },
  {
    it: 'accepts a root that nothing is served from',
    ...inHttp,
    files: { 'site/.env': '' },
    text: 'server { listen 80; root site; location / { proxy_pass http://127.0.0.1:1; } }',
  },
  {
    it: 'accepts a root without them',
    ...inHttp,
    files: { 'site/a': '' },
    text: 'server { listen 80; root site; }',
  },
  { it: 'accepts a root that is not there', ...inHttp, text: 'server { listen 80; root nowhere; }' },
]);

testRule('internal-leak', [
  {
    it: 'mends a location of mirrored requests',
    text: 'mirror /copy;\nlocation /copy {\n    proxy_pass http://127.0.0.1:1;\n}',
    says: ['location "/copy" is for "mirror", but any client can request it: add "internal"'],
    fixed: 'mirror /copy;\nlocation /copy {\n    internal;\n    proxy_pass http://127.0.0.1:1;\n}',
  },
  { it: 'accepts a fixed response', text: 'auth_request /a;\nlocation = /a { return 204; }' },
  { it: 'accepts the whole site', text: 'auth_request /;\nlocation / { proxy_pass http://127.0.0.1:1; }' },
]);

testRule('auth-plain-http', [
  {
    it: 'finds a server without a listen',
    ...inHttp,
    text: 'server { location / { auth_basic x; auth_basic_user_file f; } }',
    says: ['"auth_basic" requires credentials over plain HTTP'],
  },
  {
    it: 'accepts what comes through a proxy',
    ...inHttp,
    text: 'server { listen 80; set_real_ip_from 10.0.0.1; auth_basic x; auth_basic_user_file f; }',
  },
  {
    it: 'accepts a server that leads to TLS',
    ...inHttp,
    text: 'server { listen 80; if ($scheme = http) { return 301 https://$host$request_uri; } auth_basic x; auth_basic_user_file f; }',
  },
]);

testRule('secret-in-clear', [
  {
    it: 'finds what rows call a secret',
    ...inLocation,
    text: 'secure_link $arg_hash;\nsecure_link_md5 "$uri hidden";',
    says: ['"secure_link_md5" has a secret that is written in the configuration'],
  },
  {
    it: 'finds a password in a URL',
    ...inLocation,
    text: 'dbrest_pass postgres://web:hidden@127.0.0.1/shop;\ndbrest_schemas api;\ndbrest_anon_role anon;',
    says: ['"dbrest_pass" has a secret that is written in the configuration'],
  },
  {
    it: 'accepts a default of the environment',
    ...inLocation,
    text: 'dbrest_pass ${env:NOT_SET:-postgres://web:hidden@127.0.0.1/shop};\ndbrest_schemas api;\ndbrest_anon_role anon;',
  },
  {
    it: 'accepts a URL without a password',
    ...inLocation,
    text: 'dbrest_pass postgres://web@127.0.0.1/shop;\ndbrest_schemas api;\ndbrest_anon_role anon;',
  },
  {
    it: 'accepts a variable',
    ...inLocation,
    text: 'proxy_pass http://127.0.0.1:1;\nproxy_set_header Authorization "Bearer $cookie_token";',
  },
]);

testRule('realip-any', [
  {
    it: 'finds both families and halves',
    text: 'set_real_ip_from ::/0;\nset_real_ip_from 128.0.0.0/1;',
    says: [
      '"set_real_ip_from ::/0" lets any client forge its address',
      '"set_real_ip_from 128.0.0.0/1" lets any client forge its address',
    ],
  },
  { it: 'accepts proxies', text: 'set_real_ip_from unix:;\nset_real_ip_from 2001:db8::/32;' },
]);

testRule('limit-key-forgeable', [
  {
    it: 'finds a header in a longer key',
    ...inHttp,
    text: 'limit_conn_zone $binary_remote_addr$http_user_agent zone=a:1m;',
    says: ['"$http_user_agent" in the key of "limit_conn_zone" can be chosen by the client'],
  },
  {
    it: 'accepts a key of an account',
    ...inHttp,
    text: 'limit_req_zone $http_x_api_key zone=a:1m rate=1r/s;',
  },
]);

testRule('body-size-unset', [
  {
    it: 'knows a limit of an outer level',
    text: 'client_max_body_size 9m;\nlocation /upload { proxy_pass http://127.0.0.1:1; }',
  },
  { it: 'accepts what was uploaded', text: 'location /uploaded/ { proxy_pass http://127.0.0.1:1; }' },
]);

testRule('cidr-host-bits', [
  {
    it: 'writes the network that is meant',
    ...inHttp,
    text: 'geo $a { 10.1.2.3/8 b; default c; }',
    says: ['low address bits of 10.1.2.3/8 are meaningless'],
    fixed: 'geo $a { 10.0.0.0/8 b; default c; }',
  },
  {
    it: 'keeps quotes',
    ...inLocation,
    text: 'deny "2001:db8::7/32";',
    says: ['low address bits of 2001:db8::7/32 are meaningless'],
    fixed: 'deny "2001:db8::/32";',
  },
]);

testRule('nginx-cve-pattern', [
  {
    it: 'finds captures that hold each other in a redirect',
    text: 'rewrite ^/((a|b)/.*)$ /$1/$2 permanent;',
    says: ['nginx before 1.30.2 overflows a buffer here (CVE-2026-9256); gw does not'],
  },
  { it: 'accepts a rewrite that ends the round', text: 'rewrite ^/(a)$ /b?c=$1 last;\nset $d $1;' },
  { it: 'accepts a rewrite that nothing follows', text: 'rewrite ^/(a)$ /b?c=$1;' },
]);
