import { testRule } from './findings-in.ts';

const ZONE = 'proxy_cache_path /var/cache/gw keys_zone=pages:10m;';
const APP = 'proxy_pass http://127.0.0.1:1; proxy_cache pages; proxy_cache_valid 1m;';
const inHttp = (text: string): { readonly in: 'http'; readonly text: string } => ({
  in: 'http',
  text: `${ZONE}\n${text}`,
});
const location = (text: string, match = '/'): { readonly in: 'http'; readonly text: string } =>
  inHttp(`server { listen 127.0.0.1:80; location ${match} { ${APP} ${text} } }`);
const site = (name: string, text: string, match = '/'): string =>
  `server { listen 127.0.0.1:80; server_name ${name}; location ${match} { ${APP} ${text} } }`;

const PASSES_HOST = 'proxy_set_header Host $host;';
const SHARED = '"a.example" and "b.example" share stored responses: the key has no host';

testRule('cache-key-unsafe', [
  {
    it: 'finds sites of one upstream, which tells them apart by their host',
    ...inHttp(site('a.example', PASSES_HOST) + site('b.example', PASSES_HOST)),
    says: [SHARED],
  },
  {
    it: 'finds a key of its own without the host',
    ...inHttp(
      `proxy_cache_key $request_uri; ${site('a.example', PASSES_HOST)} ${site('b.example', PASSES_HOST)}`,
    ),
    says: [SHARED],
  },
  {
    it: 'finds a name for many sites',
    ...inHttp(site('*.example.com', PASSES_HOST)),
    says: ['all sites of "*.example.com" share stored responses: the key has no host'],
  },
  {
    it: 'finds names of one server',
    ...inHttp(site('a.example b.example', PASSES_HOST)),
    says: [SHARED],
  },
  {
    it: 'accepts sites that get the same pages',
    ...inHttp(site('a.example', '') + site('b.example', '')),
  },
  { it: 'accepts www', ...inHttp(site('a.example www.a.example', PASSES_HOST)) },
  {
    it: 'accepts different locations',
    ...inHttp(site('a.example', PASSES_HOST, '/a') + site('b.example', PASSES_HOST, '/b')),
  },
  {
    it: 'accepts upstreams with names of their own',
    ...inHttp(
      site('a.example', PASSES_HOST) + site('b.example', PASSES_HOST).replace('127.0.0.1:1', '127.0.0.1:2'),
    ),
  },
  {
    it: 'accepts keys that the configuration tells apart',
    ...inHttp(
      `map $host $tenant { default a; } ${site('a.example', `${PASSES_HOST} proxy_cache_key $tenant$request_uri;`)}${site('b.example', `${PASSES_HOST} proxy_cache_key $tenant$request_uri;`)}`,
    ),
  },
  {
    it: 'accepts the same site with and without TLS',
    ...inHttp(site('a.example', PASSES_HOST) + site('a.example', PASSES_HOST).replace(':80', ':81')),
  },
  {
    it: 'finds a key without a path',
    ...location('proxy_cache_key $host;'),
    says: ['all pages share one stored response: the key has no URI'],
  },
  {
    it: 'finds a key without the query',
    ...location('proxy_cache_key $host$uri;'),
    says: ['requests that differ in the query only share a stored response: the key has no "$args"'],
  },
  { it: 'accepts one page', ...location('proxy_cache_key $host;', '= /') },
  {
    it: 'accepts files without the query',
    ...location('proxy_cache_key $host$uri;', '~* \\.(?:css|js|png)$'),
  },
  { it: 'accepts captures', ...location('proxy_cache_key $host$1$is_args$args;', '~ ^/a/(.*)') },
  { it: 'accepts the default', ...location('') },
]);

testRule('cache-credentials', [
  {
    it: 'finds a cookie that is passed on',
    ...location('proxy_set_header Cookie "session=$cookie_session";'),
    says: ['the upstream gets "Cookie" of one client, but its response is stored for all clients'],
  },
  {
    it: 'finds a user that a subrequest has named',
    ...location(
      'auth_request /auth; auth_request_set $user $upstream_http_x_user; proxy_set_header X-User $user;',
    ),
    says: ['the upstream gets "X-User" of one client, but its response is stored for all clients'],
  },
  {
    it: 'finds a bypass whose responses are stored',
    ...location('proxy_cache_bypass $http_authorization $cookie_session;'),
    says: [
      'responses to requests with "$http_authorization" and "$cookie_session" are stored and served to other clients',
    ],
  },
  {
    it: 'tells of a password for a whole site',
    ...location('auth_basic staff; auth_basic_user_file /dev/null;'),
    says: ['all clients that pass "auth_basic" share stored responses'],
  },
  { it: 'accepts "auth_basic off"', ...location('auth_basic off;') },
  {
    it: 'accepts a key with the client',
    ...location('proxy_set_header Cookie $http_cookie; proxy_cache_key $host$request_uri$cookie_session;'),
  },
  {
    it: 'accepts conditions of the configuration',
    ...inHttp(
      `map $http_cookie $skip { default 0; ~session 1; } server { listen 127.0.0.1:80; location / { ${APP} proxy_set_header Cookie $http_cookie; proxy_cache_bypass $skip; proxy_no_cache $skip; } }`,
    ),
  },
  {
    it: 'accepts a password for the upstream',
    ...location('proxy_set_header Authorization "Basic c2VydmljZTp4"; proxy_set_header Cookie "";'),
  },
  {
    it: 'accepts switches in a bypass',
    ...location('proxy_cache_bypass $cookie_nocache $arg_nocache $http_pragma $http_upgrade;'),
  },
]);

testRule('cache-ignored-headers', [
  {
    it: 'finds private responses that are stored',
    ...location('proxy_ignore_headers Expires Cache-Control;'),
    says: ['responses are stored even if their "Cache-Control" is "private" or "no-store"'],
  },
  {
    it: 'finds variants that are mixed up',
    ...location('proxy_ignore_headers Vary;'),
    says: ['variants of a response, such as compressed ones, are stored as one'],
  },
  {
    it: 'accepts variants in the key',
    ...location('proxy_ignore_headers Vary; proxy_cache_key $host$request_uri$http_accept_encoding;'),
  },
  {
    it: 'accepts that nothing packed is asked for',
    ...location('proxy_ignore_headers Vary; proxy_set_header Accept-Encoding "";'),
  },
  {
    it: 'accepts files',
    ...location('proxy_ignore_headers Cache-Control Expires;', '~* ^.*\\.(css|js|jpe?g|css\\.map)$'),
  },
  {
    it: 'accepts a hidden cookie',
    ...location('proxy_ignore_headers Set-Cookie; proxy_hide_header set-cookie;'),
  },
  {
    it: 'accepts what is stored for one client',
    ...location(
      'proxy_ignore_headers Set-Cookie Cache-Control; proxy_cache_key $host$request_uri$cookie_session;',
    ),
  },
  {
    it: 'accepts a location without a cache',
    ...inHttp('server { location / { proxy_pass http://127.0.0.1:1; proxy_ignore_headers Set-Cookie; } }'),
  },
]);

testRule('cache-no-lifetime', [
  {
    it: 'tells once of a whole server',
    ...inHttp(
      'server { proxy_cache pages; location /a { proxy_pass http://127.0.0.1:1; } location /b { proxy_pass http://127.0.0.1:1; } }',
    ),
    says: ['"proxy_cache" without "proxy_cache_valid" stores only responses with a lifetime of their own'],
  },
  {
    it: 'accepts a lifetime of the site',
    ...inHttp(
      'proxy_cache_valid 1m; server { location / { proxy_pass http://127.0.0.1:1; proxy_cache pages; } }',
    ),
  },
]);

testRule('cache-not-used', [
  {
    it: 'tells once of a location',
    ...inHttp(
      'server { location / { proxy_pass http://127.0.0.1:1; proxy_cache_key $uri$args; proxy_cache_lock on; } }',
    ),
    says: ['"proxy_cache_key" has no effect: there is no "proxy_cache" here'],
  },
  {
    it: 'accepts settings of a server for one of its locations',
    ...inHttp(
      `server { proxy_cache_valid 1m; location /a { ${APP} } location /b { proxy_pass http://127.0.0.1:1; } }`,
    ),
  },
  {
    it: 'accepts a cache that is switched off',
    ...inHttp(
      'server { location / { proxy_pass http://127.0.0.1:1; proxy_cache off; proxy_cache_valid 1m; } }',
    ),
  },
  {
    it: 'accepts settings for files that are included elsewhere',
    ...inHttp('proxy_cache_valid 1m; server { location / { return 204; } }'),
  },
]);

testRule('cache-key-method', [
  {
    it: 'finds POST with the default key',
    ...location('proxy_cache_methods POST;'),
    says: ['responses to POST are stored, but the key has no "$request_method" and "$request_body"'],
  },
  {
    it: 'finds POST without its body',
    ...location('proxy_cache_methods GET POST; proxy_cache_key $request_method$host$request_uri;'),
    says: ['responses to POST are stored, but the key has no "$request_body"'],
  },
  {
    it: 'accepts POST with its body',
    ...location(
      'proxy_cache_methods GET POST; proxy_cache_key $request_method$host$request_uri$request_body;',
    ),
  },
  { it: 'accepts HEAD', ...location('proxy_cache_methods GET HEAD;') },
  { it: 'accepts HEAD as GET', ...location('proxy_cache_convert_head on;') },
]);

testRule('cache-background-update', [
  {
    it: 'finds other conditions only',
    ...location('proxy_cache_background_update on; proxy_cache_use_stale error timeout;'),
    says: [
      '"proxy_cache_background_update" needs "proxy_cache_use_stale updating" for responses without "stale-while-revalidate"',
    ],
  },
  {
    it: 'finds responses whose "stale-while-revalidate" is not read',
    ...location('proxy_cache_background_update on; proxy_ignore_headers Cache-Control;'),
    says: ['"proxy_cache_background_update" needs "proxy_cache_use_stale updating"'],
  },
  {
    it: 'accepts "updating" from outside',
    ...inHttp(
      `proxy_cache_use_stale error updating; server { location / { ${APP} proxy_cache_background_update on; } }`,
    ),
  },
  {
    it: 'accepts "updating" alone: the first client waits',
    ...location('proxy_cache_use_stale updating;'),
  },
]);

const SLICES =
  'slice 1m; proxy_cache_key $host$uri$is_args$args$slice_range; proxy_set_header Range $slice_range;';

testRule('slice-range', [
  {
    it: 'finds pieces that nobody asks for',
    ...location('slice 1m; proxy_cache_key $host$uri$is_args$args$slice_range;'),
    says: ['"slice" has no effect: pieces are not requested from the upstream'],
  },
  {
    it: 'finds that the Range of the client goes on',
    ...location('slice 1m; proxy_set_header Range $http_range;'),
    says: ['"slice" has no effect: pieces are not requested from the upstream'],
  },
  {
    it: 'finds the default key',
    ...location('slice 1m; proxy_set_header Range $slice_range;'),
    says: ['all pieces of a response have the same key: it has no "$slice_range"'],
  },
  {
    it: 'finds pieces that are not stored',
    ...location(SLICES),
    says: ['pieces are not stored: "proxy_cache_valid" does not contain their status, 206'],
  },
  { it: 'accepts 206', ...location(`${SLICES} proxy_cache_valid 200 206 1h;`) },
  { it: 'accepts all statuses', ...location(`${SLICES} proxy_cache_valid any 1h;`) },
  {
    it: 'accepts pieces without a cache',
    ...inHttp(
      'server { location / { proxy_pass http://127.0.0.1:1; slice 1m; proxy_set_header Range $slice_range; } }',
    ),
  },
  { it: 'accepts "slice 0"', ...location('slice 0;') },
]);

const php = (
  text: string,
  site = 'listen 127.0.0.1:80;',
): { readonly in: 'http'; readonly text: string } => ({
  in: 'http',
  text: `fastcgi_cache_path /var/cache/gw keys_zone=pages:10m;
    server { ${site} location / { fastcgi_pass 127.0.0.1:9001; ${text} } }`,
});
const PAGES = 'fastcgi_cache pages; fastcgi_cache_key $host$request_uri; fastcgi_cache_valid 1m;';

testRule('cache-key-unsafe', [
  {
    it: 'finds sites of one program, which tells them apart by their host',
    ...php(
      'fastcgi_cache pages; fastcgi_cache_key $request_uri; fastcgi_cache_valid 1m;',
      'listen 127.0.0.1:80; server_name a.example b.example;',
    ),
    says: [SHARED],
  },
]);

testRule('cache-credentials', [
  {
    it: 'finds a bypass without its counterpart in another protocol',
    ...php(`${PAGES} fastcgi_cache_bypass $cookie_session;`),
    says: ['responses to requests with "$cookie_session" are stored and served to other clients'],
  },
  {
    it: 'finds a parameter that tells who asks',
    ...php(`${PAGES} fastcgi_param HTTP_AUTHORIZATION $http_authorization;`),
    says: [
      'the upstream gets "HTTP_AUTHORIZATION" of one client, but its response is stored for all clients',
    ],
  },
]);

testRule('cache-no-lifetime', [
  {
    it: 'names the directive of the protocol',
    ...php('fastcgi_cache pages; fastcgi_cache_key $request_uri;'),
    says: [
      '"fastcgi_cache" without "fastcgi_cache_valid" stores only responses with a lifetime of their own',
    ],
  },
]);

testRule('cache-not-used', [
  {
    it: 'finds a lifetime without a cache in another protocol',
    ...php('fastcgi_cache_valid 1m;'),
    says: ['"fastcgi_cache_valid" has no effect: there is no "fastcgi_cache" here'],
  },
]);

testRule('cache-errors', [
  {
    it: 'finds errors for which no line before says less',
    ...inHttp(
      'server { listen 127.0.0.1:80; location / { proxy_pass http://127.0.0.1:1; proxy_cache pages; proxy_cache_valid 500 1m; proxy_cache_valid any 1h; } }',
    ),
    says: ['"any" stores errors such as 502 for 1h, too'],
  },
  {
    it: 'accepts times of their own for errors',
    ...inHttp(
      'server { listen 127.0.0.1:80; location / { proxy_pass http://127.0.0.1:1; proxy_cache pages; proxy_cache_valid 500 502 503 504 5s; proxy_cache_valid any 1d; } }',
    ),
  },
  { it: 'accepts some minutes', ...location('proxy_cache_valid any 10m;') },
]);
