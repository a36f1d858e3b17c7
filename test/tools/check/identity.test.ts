import { testRule } from './findings-in.ts';

const inHttp = { in: 'http' } as const;

const APP = 'upstream app { server 127.0.0.1:3000; }';
const WHO = 'location = /who { internal; return 204; }';
const SET = 'auth_request /who; auth_request_set $user $upstream_http_x_user; proxy_set_header X-User $user;';
const api = (more: string): string =>
  `${APP} server { listen 127.0.0.1:8080; location /api/ { ${SET} proxy_pass http://app; } ${more} ${WHO} }`;
const FOUND = 'header "X-User" reaches this upstream as the client sends it';

testRule('identity-header-forgeable', [
  {
    it: 'finds a location that forwards to the same group',
    ...inHttp,
    text: api('location /open/ { proxy_pass http://app/x; }'),
    says: [FOUND],
  },
  {
    it: 'finds one in another server, and one below that replaces the headers',
    ...inHttp,
    text: `${api('location /a/ { proxy_set_header X-User ""; location /a/b/ { proxy_set_header Host x; proxy_pass http://app; } }')}
      server { listen 127.0.0.1:8081; location / { proxy_pass http://app; } }`,
    says: [FOUND, FOUND],
  },
  {
    it: 'finds certificates and tokens, by any name of the header',
    ...inHttp,
    text: `${APP} server { listen 127.0.0.1:8080;
      location /a/ { proxy_set_header X_Client "CN=$ssl_client_s_dn"; proxy_pass http://app; }
      location /b/ { proxy_set_header X-Client $jwt_claim_sub; proxy_pass http://app; }
      location /c/ { proxy_pass http://app; } }`,
    says: ['header "X_Client" reaches this upstream as the client sends it'],
  },
  ...['jwt_claim $who sub', 'jwt_header $who kid'].map((named) => ({
    it: `finds a variable of "${named}"`,
    ...inHttp,
    text: `${APP} ${named}; server { listen 127.0.0.1:8080;
      location /a/ { proxy_set_header X-Client $who; proxy_pass http://app; }
      location /c/ { proxy_pass http://app; } }`,
    says: ['header "X-Client" reaches this upstream as the client sends it'],
  })),
  {
    it: 'accepts another upstream, a header that is replaced or removed, and headers that are not forwarded',
    ...inHttp,
    text: api(`location /b/ { proxy_pass http://127.0.0.1:3001; }
      location /c/ { proxy_set_header x-user ""; proxy_pass http://app; }
      location /d/ { identity_headers X_User; proxy_pass http://app; }
      location /e/ { proxy_pass_request_headers off; proxy_pass http://app; }`),
  },
  {
    it: 'accepts a header that nothing is known of',
    ...inHttp,
    text: `${APP} server { listen 127.0.0.1:8080;
      location /a/ { proxy_set_header X-Real-IP $remote_addr; proxy_pass http://app; }
      location /b/ { proxy_pass http://app; } }`,
  },
]);

const files = { users: 'ann:{PLAIN}x\n' };
const by = (realm: string, http = ''): string =>
  `${http} server { listen 127.0.0.1:8080; location / { auth_basic ${realm}; auth_basic_user_file users; return 204; } }`;

testRule('protection-by-client', [
  {
    it: 'finds a header and an argument',
    ...inHttp,
    files,
    text: `${by('$arg_area')} server { listen 127.0.0.1:8081; auth_basic $http_area; auth_basic_user_file users; return 204; }`,
    says: [
      'a client can choose "off" for "$arg_area": "auth_basic" then asks for nothing',
      'a client can choose "off" for "$http_area": "auth_basic" then asks for nothing',
    ],
  },
  {
    it: 'finds a variable that passes one on',
    ...inHttp,
    files,
    text: by('$area', 'map $uri $area { default $cookie_area; }'),
    says: ['a client can choose "off" for "$area": "auth_basic" then asks for nothing'],
  },
  {
    it: 'accepts a path, a text around the value, and a value of the configuration',
    ...inHttp,
    files,
    text: `${by('$uri')} server { listen 127.0.0.1:8081; auth_basic "for $arg_a"; auth_basic_user_file users; return 204; }
      map $http_a $b { default staff; x off; } server { listen 127.0.0.1:8082; auth_basic $b; auth_basic_user_file users; return 204; }`,
  },
]);

testRule('api-key-in-url', [
  {
    it: 'finds an argument beside a header',
    ...inHttp,
    files: { keys: `ann:${'0'.repeat(64)}\n` },
    text: 'server { listen 127.0.0.1:8080; auth_api_key x header=X-Key arg=k; auth_api_key_file keys; return 204; }',
    says: ['"arg=k" takes the key from the URL, which logs keep'],
  },
]);

const KEYS = { keys: `ann:${'0'.repeat(64)}\n` };

testRule('api-key-not-required', [
  {
    it: 'finds keys of any source, and once in a block',
    ...inHttp,
    files: KEYS,
    text: `shared_dict_zone zone=d:64k; server { listen 127.0.0.1:8080;
      location /a { auth_api_key_file keys; auth_api_key_dict d; return 204; }
      location /b { auth_api_key_redis 127.0.0.1:6379 k:; return 204; } }`,
    says: [
      '"auth_api_key_file" without "auth_api_key" has no effect: no key is required',
      '"auth_api_key_redis" without "auth_api_key" has no effect: no key is required',
    ],
  },
  {
    it: 'accepts keys that are required further in or out, and "off"',
    ...inHttp,
    files: KEYS,
    text: `auth_api_key_file keys; server { listen 127.0.0.1:8080;
      location /a { limit_except GET { auth_api_key x; } proxy_pass http://127.0.0.1:3000; }
      location /b { auth_api_key off; auth_api_key_file keys; return 204; } }
      server { listen 127.0.0.1:8081; auth_api_key x; location / { auth_api_key_file keys; return 204; } }`,
  },
]);

testRule('forgotten-quota', [
  {
    it: 'accepts short windows, a file and a cluster',
    ...inHttp,
    files: { 'cluster.key': 'tR7uWx2LqPz9Vb4N' },
    text: `cluster main { backend redis://127.0.0.1:6379; secret \${file:cluster.key}; }
      quota_zone $uri zone=a:1m limit=1/hour; quota_zone $uri zone=b:1m limit=1/week state=b.json;
      quota_zone $uri zone=c:1m limit=1/month cluster=main; server { listen 127.0.0.1:8080; }`,
  },
]);
