import { testRule } from './findings-in.ts';

testRule('server-name-no-host', [
  {
    it: 'finds a pattern',
    in: 'http',
    text: 'server { listen 8080; server_name ~^(.+)$; location / { rewrite ^ $scheme://$server_name/a permanent; } }',
    says: ['"$server_name" is "~^(.+)$" here, which is not a host'],
  },
  {
    it: 'finds a wildcard, and no name',
    in: 'http',
    text: 'server { listen 8080; server_name *.example.com; return 301 https://$server_name/; }\nserver { listen 8081; return 301 https://$server_name/; }',
    says: [
      '"$server_name" is "*.example.com" here, which is not a host',
      '"$server_name" is "" here, which is not a host',
    ],
  },
  {
    it: 'accepts the first of several names',
    in: 'http',
    text: 'server { listen 8080; server_name example.com *.example.com; return 301 https://$server_name/; }',
  },
]);

testRule('misspelt-group', [
  {
    it: 'finds the group in a rewrite',
    text: 'rewrite ^/(:?a|b)/(.*)$ /$2 last;',
    says: ['"(:?" begins a group with a colon, if there is one; did you mean "(?:"?'],
    fixed: 'rewrite ^/(?:a|b)/(.*)$ /$2 last;',
  },
  {
    it: 'accepts a port that may be missing',
    text: String.raw`if ($http_host ~ "^a(:?\d+|)$") { return 204; }`,
  },
  { it: 'accepts a bracket that stands for itself', text: String.raw`location ~ "\(:?a|b" { return 204; }` },
]);

testRule('geo-literal', [
  {
    it: 'finds each line with a variable',
    in: 'http',
    text: 'geo $a { ranges; default $host; 10.0.0.0-10.0.0.9 x; 10.1.0.0-10.1.0.9 $uri; }',
    says: [
      '"$host" in "geo" is plain text, the same for all clients',
      '"$uri" in "geo" is plain text, the same for all clients',
    ],
  },
  { it: 'accepts a dollar of its own', in: 'http', text: 'geo $a { default 5$; }' },
]);

testRule('auth-off-closed', [
  { it: 'accepts a list alone', text: 'deny all; location /a { auth_basic off; }' },
  {
    it: 'accepts a location with a list of its own',
    text: 'satisfy any; deny all; auth_basic a; auth_basic_user_file /dev/null; location /a { auth_basic off; allow 10.0.0.1; deny all; }',
  },
  {
    it: 'accepts a token in place of the password',
    text: 'satisfy any; deny all; auth_basic a; auth_basic_user_file /dev/null; location /a { auth_basic off; auth_request /b; }',
  },
]);

const LOG = 'access_log logs/$host.log;';

testRule('log-name-chosen', [
  {
    it: 'finds a log of all servers',
    in: 'http',
    text: `${LOG} server { listen 8080; server_name a.example; return 204; }`,
    says: ['clients can choose the name of this log by "$host"'],
  },
  {
    it: 'accepts a server that is not the default one',
    in: 'http',
    text: `server { listen 8080 default_server; return 444; } server { listen 8080; server_name a.example; ${LOG} return 204; }`,
  },
  {
    it: 'finds an argument wherever it stands',
    text: 'location / { access_log logs/$arg_name; }',
    says: ['clients can choose the name of this log by "$arg_name"'],
  },
  { it: 'accepts a condition', text: 'access_log logs/$arg_name combined if=$cookie_a;' },
]);

testRule('shadowed-names', [
  {
    it: 'finds a name of the wildcard socket, on loopback too',
    in: 'http',
    text: 'server { listen 127.0.0.1:8080; server_name a.example; }\nserver { listen 8080; server_name a.example b.example; }',
    says: [
      'requests for "b.example" to 127.0.0.1:8080 do not reach its server, which listens on 0.0.0.0:8080',
    ],
  },
  {
    it: 'accepts a server that listens on both',
    in: 'http',
    text: 'server { listen 10.0.0.1:8080; listen 8080; server_name a.example; }',
  },
  {
    it: 'accepts other ports, and servers without a name',
    in: 'http',
    text: 'server { listen 10.0.0.1:8080; server_name a.example; }\nserver { listen 8081; server_name b.example; }\nserver { listen 8080 default_server; server_name _; }',
  },
]);

testRule('redirect-port', [
  {
    it: 'finds a rewrite',
    in: 'http',
    text: 'server { listen 8080 engine=node; set_real_ip_from 10.0.0.1; rewrite ^/old /new permanent; }',
    says: ['the redirect contains port 8080, which may not be the port of the proxy'],
  },
  {
    it: 'accepts whole URLs, the usual ports, and servers behind nobody',
    in: 'http',
    text: `server { listen 8080; return 301 /a; }
      server { listen 8081 engine=node; set_real_ip_from 10.0.0.1; return 301 https://$host/a; }
      server { listen 80 engine=node; set_real_ip_from 10.0.0.1; return 301 /a; }
      server { listen 8082 engine=node; set_real_ip_from 10.0.0.1; port_in_redirect off; return 301 /a; }`,
  },
]);

testRule('capture-replaced', [
  {
    it: 'finds a capture behind the map in the same value, and none before it',
    in: 'http',
    text: 'map $uri $m { ~x y; }\nserver { listen 8080; location ~ ^/(a)/(b) { set $k $1$m; return 200 "$1 ${m}/$2"; } }',
    says: ['"$2" is a group of the "map" of "$m" if one of its patterns matches'],
  },
  {
    it: 'accepts a map of plain texts',
    in: 'http',
    text: 'map $uri $m { /x y; }\nserver { listen 8080; location ~ ^/(a) { return 200 "$m $1"; } }',
  },
]);

testRule('return-below-access', [
  {
    it: 'finds a text below a list of addresses',
    text: 'allow 10.0.0.0/8;\ndeny all;\nlocation = /a { return 200 "for us"; }',
    says: ['"return" runs before the inherited "deny": anyone gets the response'],
  },
  {
    it: 'accepts redirects, refusals and an opened location',
    text: 'allow 10.0.0.0/8;\ndeny all;\nlocation = /a { return 301 /b; }\nlocation = /b { return 404; }\nlocation = /c { allow all; return 200 "for all"; }',
  },
]);
