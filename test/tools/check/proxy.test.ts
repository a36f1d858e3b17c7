import { testRule } from './findings-in.ts';

const inHttp = { in: 'http' } as const;
const inLocation = { in: 'location' } as const;
const GROUP = 'upstream app { server 127.0.0.1:1; keepalive 4; }';
const server = (text: string): string =>
  `${GROUP}\nserver { listen 127.0.0.1:80; location / { proxy_pass http://app; proxy_set_header Host $host; ${text} } }`;

testRule('proxy-header-redefinition', [
  {
    it: 'repeats what is lost, in order',
    text: 'proxy_set_header A 1;\nproxy_set_header B 2;\nlocation / {\n    proxy_set_header C 3;\n    proxy_pass http://127.0.0.1:1;\n}',
    says: ['"proxy_set_header" here drops "A" and "B" of the outer level'],
    fixed:
      'proxy_set_header A 1;\nproxy_set_header B 2;\nlocation / {\n    proxy_set_header A 1;\n    proxy_set_header B 2;\n    proxy_set_header C 3;\n    proxy_pass http://127.0.0.1:1;\n}',
  },
  {
    it: 'writes no secret down a second time',
    text: 'proxy_set_header Authorization "Bearer s3cret";\nlocation / { proxy_set_header C 3; proxy_pass http://127.0.0.1:1; }',
    says: ['"proxy_set_header" here drops "Authorization" of the outer level'],
    fixed:
      'proxy_set_header Authorization "Bearer s3cret";\nlocation / { proxy_set_header C 3; proxy_pass http://127.0.0.1:1; }',
  },
  {
    it: 'accepts headers that go out anyway',
    text: 'proxy_set_header Connection "";\nproxy_set_header Host $proxy_host;\nlocation / { proxy_set_header C 3; proxy_pass http://127.0.0.1:1; }',
  },
  {
    it: 'accepts a location that forwards nothing',
    text: 'proxy_set_header A 1;\nlocation / { proxy_set_header B 2; }',
  },
]);

testRule('host-spoofing', [
  {
    it: 'sends the checked host instead',
    ...inLocation,
    text: 'proxy_set_header host "${http_host}";',
    says: ['"Host ${http_host}" passes on what the client sent'],
    fixed: 'proxy_set_header host "$host";',
  },
  { it: 'accepts another header', ...inLocation, text: 'proxy_set_header X-Forwarded-Host $http_host;' },
]);

testRule('missing-host-header', [
  {
    it: 'adds the header where none is inherited',
    ...inHttp,
    text: `${GROUP}\nserver {\n    location / {\n        proxy_pass http://app;\n    }\n}`,
    says: ['the upstream gets "Host: app"'],
    fixed: `${GROUP}\nserver {\n    location / {\n        proxy_pass http://app;\n        proxy_set_header Host $host;\n    }\n}`,
  },
  {
    it: 'tells all places of a server once',
    ...inHttp,
    text: `${GROUP}\nupstream api { server 127.0.0.1:2; }\nserver {\nlocation / {\n    proxy_pass http://app;\n}\nlocation /api/ {\n    proxy_pass http://api;\n}\n}\nserver { listen 127.0.0.1:1; location / { proxy_pass http://app; } }`,
    says: [
      'the upstream gets "Host: app", and the name of its group in 1 other place of this server',
      'the upstream gets "Host: app"',
    ],
    fixed: `${GROUP}\nupstream api { server 127.0.0.1:2; }\nserver {\nlocation / {\n    proxy_pass http://app;\n    proxy_set_header Host $host;\n}\nlocation /api/ {\n    proxy_pass http://api;\n    proxy_set_header Host $host;\n}\n}\nserver { listen 127.0.0.1:1; location / { proxy_pass http://app; } }`,
  },
  {
    it: 'accepts a group that is called like a host',
    ...inHttp,
    text: 'upstream api.example { server 127.0.0.1:1; }\nserver { location / { proxy_pass http://api.example; } }',
  },
  { it: 'accepts a real host', ...inLocation, text: 'proxy_pass http://127.0.0.1:1;' },
]);

testRule('proxy-uri-normalized', [
  {
    it: 'removes the URI',
    text: 'location / { proxy_pass http://127.0.0.1:1/; }',
    says: ['"/" in "proxy_pass" does not change the path, but decodes it: "%2F" arrives as "/"'],
    fixed: 'location / { proxy_pass http://127.0.0.1:1; }',
  },
  {
    it: 'keeps quotes',
    text: 'location /a { proxy_pass "http://127.0.0.1:1/a"; }',
    says: ['"/a" in "proxy_pass" does not change the path, but decodes it: "%2F" arrives as "/"'],
    fixed: 'location /a { proxy_pass "http://127.0.0.1:1"; }',
  },
  { it: 'accepts a URI that changes the path', text: 'location /a/ { proxy_pass http://127.0.0.1:1/; }' },
]);

testRule('proxy-slash-mismatch', [
  {
    it: 'ends the location with a slash',
    text: 'location ^~ /api { proxy_pass http://127.0.0.1:1/; }',
    says: ['location "/api" + URI "/" maps "/api/x" to "//x"'],
    fixed: 'location ^~ /api/ { proxy_pass http://127.0.0.1:1/; }',
  },
  {
    it: 'ends the URI with a slash',
    text: 'location /api/ { proxy_pass http://127.0.0.1:1/v1; }',
    says: ['location "/api/" + URI "/v1" maps "/api/x" to "/v1x"'],
    fixed: 'location /api/ { proxy_pass http://127.0.0.1:1/v1/; }',
  },
  { it: 'accepts a query', text: 'location /s/ { proxy_pass http://127.0.0.1:1/find?q=; }' },
  { it: 'accepts a file', text: 'location /hook/ { proxy_pass http://127.0.0.1:1/v1/hook.php; }' },
  { it: 'accepts an incomplete word', text: 'location /s/ { proxy_pass http://127.0.0.1:1/s-; }' },
  { it: 'accepts an exact location', text: 'location = /s { proxy_pass http://127.0.0.1:1/t/; }' },
]);

testRule('keepalive-headers', [
  {
    it: 'finds a header that closes',
    ...inHttp,
    text: server('proxy_set_header Connection close;'),
    says: ['"Connection close" closes the connection to the upstream after each request'],
    fixed: server('proxy_set_header Connection "";'),
  },
  {
    it: 'finds a map that closes',
    ...inHttp,
    text: `map $http_upgrade $up { default upgrade; "" close; }\n${server('proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $up;')}`,
    says: ['"Connection $up" closes connections to the upstream'],
  },
  { it: 'accepts what gw does by itself', ...inHttp, text: server('') },
  {
    it: 'accepts maps of which one may keep the connection',
    ...inHttp,
    text: `map $http_upgrade $up { default upgrade; "" $kept; }\nmap $arg_kept $kept { default close; 1 ""; }\n${server('proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $up;')}`,
  },
  {
    it: 'accepts a group that keeps nothing',
    ...inHttp,
    text: server('proxy_http_version 1.0;').replace('keepalive 4; ', ''),
  },
]);

testRule('websocket-upgrade', [
  {
    it: 'adds the other header',
    ...inLocation,
    text: 'proxy_pass http://127.0.0.1:1;\nproxy_set_header Connection upgrade;',
    says: ['"Connection: upgrade" is sent to the upstream without "Upgrade"'],
    fixed:
      'proxy_pass http://127.0.0.1:1;\nproxy_set_header Connection upgrade;\nproxy_set_header Upgrade $http_upgrade;',
  },
  {
    it: 'has no second "Connection" to offer',
    ...inLocation,
    text: 'proxy_pass http://127.0.0.1:1;\nproxy_set_header Upgrade $http_upgrade;\nproxy_set_header Connection "";',
    says: ['"Upgrade" is sent to the upstream with "Connection: "'],
  },
  {
    it: 'finds a connection that is kept instead',
    ...inLocation,
    text: 'proxy_pass http://127.0.0.1:1;\nproxy_set_header Upgrade $http_upgrade;\nproxy_set_header Connection keep-alive;',
    says: ['"Upgrade" is sent to the upstream with "Connection: keep-alive"'],
  },
  {
    it: 'accepts a header of the client',
    ...inLocation,
    text: 'proxy_pass http://127.0.0.1:1;\nproxy_set_header Upgrade $http_upgrade;\nproxy_set_header Connection $http_connection;',
  },
  {
    it: 'accepts a header that is taken out',
    ...inLocation,
    text: 'proxy_pass http://127.0.0.1:1;\nproxy_set_header Upgrade "";',
  },
]);

testRule('single-server-retry', [
  {
    it: 'accepts a name, because it may have several addresses',
    ...inLocation,
    text: 'proxy_pass http://a.b;\nproxy_next_upstream error;',
  },
  {
    it: 'accepts "proxy_next_upstream off"',
    ...inLocation,
    text: 'proxy_pass http://127.0.0.1:1;\nproxy_next_upstream off;',
  },
]);

testRule('proxy-ssl-unverified', [
  { it: 'accepts this machine', ...inLocation, text: 'proxy_pass https://127.0.0.1:8443;' },
  {
    it: 'accepts a group of this machine',
    ...inHttp,
    text: `${GROUP}\nserver { location / { proxy_pass https://app; } }`,
  },
  {
    it: 'finds a group of another machine, and a URL with variables',
    ...inHttp,
    text: 'upstream far { server 192.0.2.1; }\nserver { location / { proxy_pass https://far; } location /a { proxy_pass https://192.0.2.1$request_uri; } }',
    says: [
      '"proxy_pass" over https does not verify the certificate of the upstream',
      '"proxy_pass" over https does not verify the certificate of the upstream',
    ],
  },
]);
