import { testRule } from './findings-in.ts';

const inHttp = { in: 'http' } as const;
const inLocation = { in: 'location' } as const;

testRule('alias-traversal', [
  {
    it: 'looks at ^~ as well',
    text: 'location ^~ /img { alias /srv/img/; }',
    says: ['location "/img" + alias "/srv/img/" also serves "/img../"'],
    fixed: 'location ^~ /img/ { alias /srv/img/; }',
  },
  {
    it: 'mends a quoted prefix inside its quotes',
    text: 'location "/a b" { alias /srv/; }',
    says: ['location "/a b" + alias "/srv/" also serves "/a b../"'],
    fixed: 'location "/a b/" { alias /srv/; }',
  },
  {
    it: 'looks at a nested location',
    text: 'location /a { location /a/b { alias /srv/; } }',
    says: ['location "/a/b" + alias "/srv/" also serves "/a/b../"'],
  },
  {
    it: 'finds a regex whose rest begins anywhere',
    text: 'location ~ ^/img(.*)$ { alias /srv/img/$1; }',
    says: ['alias "/srv/img/$1" also serves the directory above: $1 can begin with "../"'],
  },
  {
    it: 'finds a regex with a named rest',
    text: 'location ~ ^/img(?<rest>.+)$ { alias /srv/img/$rest; }',
    says: ['alias "/srv/img/$rest" also serves the directory above: $rest can begin with "../"'],
  },
  { it: 'accepts a rest behind a slash', text: 'location ~ ^/img/(.*)$ { alias /srv/img/$1; }' },
  { it: 'accepts a narrow rest', text: 'location ~ ^/img([a-z]+)$ { alias /srv/img/$1; }' },
  { it: 'accepts a pair without slashes', text: 'location /img { alias /srv/img; }' },
  { it: 'accepts an exact location', text: 'location = /img { alias /srv/img/; }' },
]);

testRule('root-exposure', [
  { it: 'finds the root of all', text: 'root /;', says: ['"root /" serves the whole file system'] },
  {
    it: 'finds a directory of the system, slash or not',
    text: 'root /etc/;',
    says: ['"root /etc/" serves the system directory "/etc"'],
  },
  {
    it: 'finds what a prefix leads to',
    text: 'location /etc/ { root /; }',
    says: ['"root /" serves the system directory "/etc"'],
  },
  {
    it: 'finds an alias',
    text: 'location /keys/ { alias /etc/ssl/private/; }',
    says: [
      '"root /etc/ssl/private/" serves the system directory "/etc/ssl/private"'.replace('root', 'alias'),
    ],
  },
  { it: 'accepts a prefix that leads to a site', text: 'location /srv/www/ { root /; }' },
  {
    it: 'finds what a regex leads to',
    text: 'location ~ ^/etc/ { root /; }\nlocation ~ \\.js$ { root /; }',
    says: ['"root /" serves the system directory "/etc"', '"root /" serves the whole file system'],
  },
  { it: 'accepts a regex that leads to a site', text: 'location ~* ^/image/.*\\.png$ { root /; }' },
  {
    it: 'accepts a regex inside of a prefix that leads to a site',
    text: 'location /image/ { root /srv; location ~ \\.png$ { root /; } }',
  },
  { it: 'accepts one file', text: 'location = /version { alias /etc/debian_version; }' },
  { it: 'accepts a root that holds nothing', text: 'root /dev/null;' },
  { it: 'accepts a relative root', text: 'root html;' },
  { it: 'accepts a variable', text: 'root /home/$arg_user;' },
]);

testRule('header-redefinition', [
  {
    it: 'names what is lost, at each level that loses it',
    ...inHttp,
    text: 'add_header A 1;\nadd_header B 2;\nserver {\n    listen 127.0.0.1:80;\n    add_header C 3;\n    location / {\n        add_header C 4;\n    }\n    location /d {\n        add_header D 5;\n    }\n}',
    says: [
      '"add_header" here drops "A" and "B" of the outer level',
      '"add_header" here drops "C" of the outer level',
    ],
  },
  {
    it: 'mends with one line',
    text: 'add_header A 1;\nlocation / {\n    add_header B 2;\n}',
    says: ['"add_header" here drops "A" of the outer level'],
    fixed: 'add_header A 1;\nlocation / {\n    add_header_inherit merge;\n    add_header B 2;\n}',
  },
  {
    it: 'repeats what is lost where merging would send a header twice',
    text: 'add_header A 1 always;\nadd_header C 1;\nlocation / {\n    add_header B 2;\n    add_header C 3;\n}',
    says: ['"add_header" here drops "A" of the outer level'],
    fixed:
      'add_header A 1 always;\nadd_header C 1;\nlocation / {\n    add_header A 1 always;\n    add_header B 2;\n    add_header C 3;\n}',
  },
  {
    it: 'mends within one line',
    text: 'add_header A 1;\nlocation / { expires 1h; add_header B 2; return 200; }',
    says: ['"add_header" here drops "A" of the outer level'],
    fixed:
      'add_header A 1;\nlocation / { expires 1h; add_header_inherit merge; add_header B 2; return 200; }',
  },
  {
    it: 'looks into an if',
    text: 'location / {\n    add_header Vary Origin;\n    if ($arg_a) {\n        add_header A 1;\n    }\n}',
    says: ['"add_header" here drops "Vary" of the outer level'],
  },
  { it: 'ignores the case of names', text: 'add_header X-A 1;\nlocation / { add_header x-a 2; }' },
  {
    it: 'accepts what is dropped on purpose',
    text: 'add_header A 1;\nlocation / { add_header_inherit off; add_header B 1; }',
  },
  {
    it: 'knows that merging is inherited',
    text: 'add_header_inherit merge;\nadd_header A 1;\nlocation / { add_header B 1; }',
  },
]);

testRule('header-content-type', [
  {
    it: 'offers default_type',
    ...inLocation,
    text: 'add_header Content-Type "text/plain; charset=utf-8";\nreturn 200 ok;',
    says: ['"add_header Content-Type" adds a second Content-Type to the response'],
    fixed: 'default_type "text/plain; charset=utf-8";\nreturn 200 ok;',
  },
  {
    it: 'accepts a response without a body',
    ...inLocation,
    text: 'add_header Content-Type text/plain;\nreturn 204;',
  },
  {
    it: 'accepts a type that replaces a hidden one',
    ...inLocation,
    text: 'proxy_pass http://127.0.0.1:1;\nproxy_hide_header content-type;\nadd_header Content-Type text/plain;',
  },
]);

testRule('allow-without-deny', [
  {
    it: 'ends the list with deny all',
    ...inLocation,
    text: 'allow 10.0.0.0/8;\nallow 192.168.0.0/16;',
    says: ['"allow 10.0.0.0/8" without "deny all" refuses nobody'],
    fixed: 'allow 10.0.0.0/8;\nallow 192.168.0.0/16;\ndeny all;',
  },
  {
    it: 'looks into limit_except',
    ...inLocation,
    text: 'limit_except GET { allow 10.0.0.0/8; }',
    says: ['"allow 10.0.0.0/8" without "deny all" refuses nobody'],
  },
  { it: 'accepts "allow all" that lifts an outer list', text: 'deny all;\nlocation /open { allow all; }' },
  {
    it: 'accepts a password as the alternative with "satisfy any"',
    ...inLocation,
    text: 'satisfy any;\nallow 10.0.0.0/8;\nauth_basic x;\nauth_basic_user_file f;',
  },
]);

testRule('return-bypasses-acl', [
  {
    it: 'finds a redirect beside a password',
    ...inLocation,
    text: 'auth_basic staff;\nauth_basic_user_file f;\nreturn 301 /staff;',
    says: ['"return" runs before "auth_basic": anyone gets the response'],
  },
  {
    it: 'finds limits that count nothing',
    in: 'http',
    text: `limit_req_zone $remote_addr zone=r:1m rate=1r/s; quota_zone $remote_addr zone=q:1m limit=9/hour;
      server { listen 127.0.0.1:8080; limit_req zone=r; location /a { quota zone=q; return 200 ok; }
        location /b { limit_req zone=r; return 204; } location /c { limit_req zone=r; return 403; } location /d { return 204; } }`,
    says: [
      '"return" runs before "quota": no request is counted',
      '"return" runs before "limit_req": no request is counted',
    ],
  },
  { it: 'accepts a refusal', ...inLocation, text: 'deny all;\nreturn 403;' },
  { it: 'accepts the list of another level', text: 'deny all;\nlocation /health { return 200 ok; }' },
  { it: 'accepts a lifted password', ...inLocation, text: 'auth_basic off;\nreturn 200 ok;' },
  { it: 'accepts a condition', ...inLocation, text: 'deny 10.0.0.1;\nif ($arg_a) { return 200 ok; }' },
]);

testRule('acl-order', [
  {
    it: 'moves the narrower rule up',
    ...inLocation,
    text: 'deny all;\nallow 10.0.0.0/8;\n',
    says: ['"allow 10.0.0.0/8" after "deny all" never applies'],
    fixed: 'allow 10.0.0.0/8;\ndeny all;\n',
  },
  {
    it: 'compares networks',
    ...inLocation,
    text: 'allow 10.0.0.0/8;\ndeny 10.1.0.0/16;\ndeny all;',
    says: ['"deny 10.1.0.0/16" after "allow 10.0.0.0/8" never applies'],
  },
  {
    it: 'accepts a rule that repeats another',
    ...inLocation,
    text: 'allow 10.0.0.0/8;\nallow 10.1.0.0/16;\ndeny all;',
  },
  { it: 'keeps families apart', ...inLocation, text: 'deny 0.0.0.0/0;\nallow ::1;\nallow unix:;\ndeny all;' },
]);

testRule('satisfy-any-open', [
  {
    it: 'sees what is inherited',
    text: 'satisfy any;\nauth_request /auth;\nlocation /a { allow all; }',
    says: ['"allow all" with "satisfy any" disables "auth_request"'],
  },
  { it: 'accepts "deny all" before it', text: 'satisfy any;\ndeny all;\nallow all;\nauth_request /auth;' },
]);

testRule('valid-referers-none', [
  {
    it: 'names both words',
    ...inLocation,
    text: 'valid_referers none blocked server_names;',
    says: ['"none" and "blocked" in "valid_referers" accept requests without a usable Referer'],
  },
]);

testRule('cors-star-credentials', [
  {
    it: 'finds a star',
    ...inLocation,
    text: 'add_header Access-Control-Allow-Origin *;\nadd_header Access-Control-Allow-Credentials true;',
    says: ['"Access-Control-Allow-Origin *" with credentials is refused by browsers'],
  },
  { it: 'accepts a star alone', ...inLocation, text: 'add_header Access-Control-Allow-Origin *;' },
  {
    it: 'accepts one origin',
    ...inLocation,
    text: 'add_header Access-Control-Allow-Origin https://a.example;\nadd_header Access-Control-Allow-Credentials true;',
  },
  {
    it: 'accepts a checked origin',
    ...inLocation,
    text: 'if ($http_origin = https://a.example) {\nadd_header Access-Control-Allow-Origin $http_origin;\nadd_header Access-Control-Allow-Credentials true;\n}',
  },
]);
