import { type GroupCase, testGroup } from './group-cases.ts';

const here = (inside: string): string =>
  `server { listen 127.0.0.1:8080; location /api/ { dbrest_schemas api; ${inside} } }`;
const open = (inside: string): string =>
  `server { listen 8080; location /api/ { dbrest_schemas api; dbrest_anon_role anon; ${inside} } }`;
const sizes = (one: string, other: string): string =>
  `dbrest_schemas api; dbrest_anon_role anon; server { listen 127.0.0.1:8080; location /a/ { ${one} } location /b/ { ${other} } }`;
const keyed = here('dbrest_pass embedded; dbrest_jwt_secret ${file:secret};');

const SHORT = '"dbrest_jwt_secret" has';
const EXAMPLE = 'GW605 the secret of "dbrest_jwt_secret" is a known example';
const PLAIN = (mode: string): string =>
  `GW609 "dbrest_pass" reaches another machine with "sslmode=${mode}": the server is not authenticated`;

const jwk = (members: object): string => JSON.stringify(members);
const base64 = (text: string): string => Buffer.from(text).toString('base64url');

const secrets: readonly GroupCase[] = [
  {
    it: 'a secret of 32 bytes is long enough',
    conf: keyed,
    secret: 'kD9vQ2mXz7LwB4nRt8YpJ5sHc3FgUa6E',
    says: [],
  },
  {
    it: 'a secret of 31 bytes is too short',
    conf: keyed,
    secret: 'kD9vQ2mXz7LwB4nRt8YpJ5sHc3FgUa6',
    says: [`GW604 ${SHORT} 31 bytes, but HS256 needs at least 32`],
  },
  { it: 'bytes count, not characters', conf: keyed, secret: 'kD9vQ2mXz7LwäöüßéñçåøæÅÆ', says: [] },
  {
    it: 'the length of a key in a set is that of the decoded key',
    conf: keyed,
    secret: jwk({ keys: [{ kty: 'oct', k: base64('kD9vQ2mXz7') }] }),
    says: [`GW604 ${SHORT} 10 bytes, but HS256 needs at least 32`],
  },
  ...[
    'your-256-bit-secret',
    'super-secret-jwt-token-with-at-least-32-characters-long',
    'reallyreallyreallyreallyverysafe',
    'CHANGE_ME_CHANGE_ME_CHANGE_ME_32',
    'replace-this-by-a-secret-of-yours',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    '0123456789abcdef0123456789abcdef',
  ].map((secret) => ({ it: `"${secret}" is known`, conf: keyed, secret, says: [EXAMPLE] })),
  {
    it: 'a known secret is also known as a key',
    conf: keyed,
    secret: jwk({ kty: 'oct', k: base64('reallyreallyreallyreallyverysafe') }),
    says: [EXAMPLE],
  },
  {
    it: 'a key with no signature at all',
    conf: keyed,
    secret: jwk({ kty: 'oct', alg: 'none', k: base64('kD9vQ2mXz7LwB4nRt8YpJ5sHc3FgUa6E') }),
    says: ['GW606 a key of type "oct" cannot be used with the algorithm "none"'],
  },
  {
    it: 'an elliptic curve with HMAC',
    conf: keyed,
    secret: jwk({ kty: 'EC', alg: 'HS256', crv: 'P-256', x: 'a', y: 'b' }),
    says: ['GW606 a key of type "EC" cannot be used with the algorithm "HS256"'],
  },
  {
    it: 'a public key in base64 as a secret',
    conf: keyed,
    secret: Buffer.from(
      '-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQ==\n-----END PUBLIC KEY-----',
    ).toString('base64'),
    says: ['GW606 "dbrest_jwt_secret" uses a public key as the secret of HMAC'],
  },
  {
    it: 'public keys without an algorithm go with that of their type',
    conf: keyed,
    secret: jwk({ keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'a' }] }),
    says: [],
  },
];

const anon = 'dbrest_anon_role anon;';

const connections: readonly GroupCase[] = [
  ...['disable', 'allow', 'prefer', 'require', 'verify-ca'].map((mode) => ({
    it: `another machine with sslmode ${mode}`,
    conf: here(`${anon} dbrest_pass "host=db.example user=web sslmode=${mode}";`),
    says: [PLAIN(mode)],
  })),
  ...['localhost', '127.0.0.1', '::1', '/run/postgresql'].map((host) => ({
    it: `"${host}" is this machine`,
    conf: here(`${anon} dbrest_pass "host=${host} user=web";`),
    says: [],
  })),
  {
    it: 'one of several hosts is another machine',
    conf: here(`${anon} dbrest_pass "host=localhost,db.example user=web";`),
    says: [PLAIN('prefer')],
  },
  {
    it: 'a superuser in either form of the connection string',
    conf:
      here(`${anon} dbrest_pass "host=localhost user='postgres'";`) +
      here(`${anon} dbrest_pass postgresql://supabase%5Fadmin@localhost/x;`),
    says: [
      'GW601 "dbrest_pass" connects as "postgres" (superuser): row security is not applied to it',
      'GW601 "dbrest_pass" connects as "supabase_admin" (superuser): row security is not applied to it',
    ],
  },
  {
    it: 'the anonymous role is the role that logs in',
    conf: here(`${anon} dbrest_pass postgresql://anon@localhost/x;`),
    says: [
      'GW618 "dbrest_anon_role" is the role that "dbrest_pass" logs in with, so requests have all its rights',
    ],
  },
  {
    it: 'the anonymous role is a superuser',
    conf: here('dbrest_anon_role postgres; dbrest_pass postgresql://web@localhost/x;'),
    says: ['GW602 unauthenticated requests run as "postgres", a superuser'],
  },
  {
    it: 'a connection string that cannot be read, at its column',
    conf: here(`${anon} dbrest_pass "host=localhost port=0";`),
    says: ['GW616 invalid value in "dbrest_pass" directive, invalid port'],
  },
  {
    it: 'a pool of one database counts once, the largest',
    conf: `dbrest_pool_size 2; ${here(`${anon} dbrest_pass "host=localhost";`)}`,
    says: [],
  },
  {
    it: 'a pool size that a larger one of the same database overrides',
    conf: sizes('dbrest_pool_size 4; dbrest_pass "host=localhost";', 'dbrest_pass "host=localhost";'),
    says: ['GW619 "dbrest_pool_size 4" has no effect: another location gives this database a pool of 16'],
  },
  {
    it: 'an inherited pool size that a larger one overrides, at the location',
    conf: `dbrest_pool_size 2; ${sizes('dbrest_pool_size 3; dbrest_pass embedded;', 'dbrest_pass embedded;')}`,
    says: ['GW619 "dbrest_pool_size 2" has no effect: another location gives this database a pool of 3'],
  },
  {
    it: 'pool sizes of different databases',
    conf: sizes(
      'dbrest_pool_size 4; dbrest_pass "host=localhost";',
      'dbrest_pass "host=localhost dbname=b";',
    ),
    says: [],
  },
  {
    it: 'equal pool sizes of one database',
    conf: `dbrest_pool_size 4; ${sizes('dbrest_pool_size 4; dbrest_pass embedded;', 'dbrest_pass embedded;')}`,
    says: [],
  },
];

const reach: readonly GroupCase[] = [
  {
    it: 'any client may write, and read without a limit',
    conf: open('dbrest_pass embedded;'),
    says: [
      'GW610 unauthenticated POST requests reach the database as the anonymous role',
      'GW611 anyone can read whole tables: "dbrest_max_rows" is not set',
    ],
  },
  {
    it: 'any client may PATCH, but not POST',
    conf: open('dbrest_pass embedded; dbrest_max_rows 9; limit_except GET PATCH { deny all; }'),
    says: ['GW610 unauthenticated PATCH requests reach the database as the anonymous role'],
  },
  {
    it: 'functions are there to be called',
    conf: 'dbrest_anon_role a; dbrest_schemas b; dbrest_max_rows 9; server { location /rpc/ { dbrest_pass embedded; } location /f/ { dbrest_pass embedded; dbrest_rpc on; } }',
    says: [],
  },
  {
    it: 'clients without a token have no access',
    conf: 'dbrest_schemas b; dbrest_jwt_secret ${file:secret}; server { location /api/ { dbrest_pass embedded; } }',
    secret: 'kD9vQ2mXz7LwB4nRt8YpJ5sHc3FgUa6E',
    says: [],
  },
  {
    it: 'a password limits access',
    conf: open('dbrest_pass embedded; auth_basic x; auth_basic_user_file u;'),
    says: [],
  },
  {
    it: 'any client can read the whole description',
    conf: open(
      'dbrest_pass embedded; dbrest_max_rows 9; limit_except GET { deny all; } dbrest_openapi ignore-privileges;',
    ),
    says: ['GW617 "dbrest_openapi ignore-privileges" shows anyone what they may not use'],
  },
];

const places: readonly GroupCase[] = [
  {
    it: 'schemas of the system, one by one',
    conf: `dbrest_schemas "api, pg_catalog" information_schema; dbrest_anon_role a; server { listen 127.0.0.1:80; location /a/ { dbrest_pass embedded; } }`,
    says: [
      'GW608 "dbrest_schemas" serves the system schema "pg_catalog"',
      'GW608 "dbrest_schemas" serves the system schema "information_schema"',
    ],
  },
  {
    it: 'no schema, no role and no secret',
    conf: 'server { listen 127.0.0.1:80; location /a/ { dbrest_pass embedded; } }',
    says: [
      'GW602 unauthenticated requests run as "postgres", a superuser',
      'GW603 "dbrest_pass" runs every request as the role that it logs in with: neither "dbrest_jwt_secret" nor "dbrest_anon_role" is set',
      'GW607 "dbrest_schemas" is not set: "public" is served with every table of every extension',
    ],
  },
  {
    it: 'an exact location and one that ends in a slash match no neighbouring paths',
    conf: 'dbrest_schemas a; dbrest_anon_role b; server { listen 127.0.0.1:80; location = /a { dbrest_pass embedded; } location / { dbrest_pass embedded; } }',
    says: [],
  },
  {
    it: 'batches and tools of locations without paths below them, and of one that has them',
    conf: `dbrest_schemas a; dbrest_anon_role b; dbrest_batch on; server { listen 127.0.0.1:80; location /a/ { dbrest_pass embedded; }
      location = /b { dbrest_pass embedded; dbrest_mcp on; } location ~ c { dbrest_pass embedded; dbrest_batch on; } }`,
    says: [
      'GW625 "dbrest_mcp" has no effect: only prefix locations have paths below them',
      'GW625 "dbrest_batch" has no effect: only prefix locations have paths below them',
    ],
  },
  {
    it: 'rows that are to be followed where functions alone are served',
    conf: `dbrest_schemas a; dbrest_anon_role b; server { listen 127.0.0.1:80; location /rpc/ { dbrest_pass embedded; dbrest_live on; } }`,
    says: ['GW625 "dbrest_live" has no effect: the location only serves functions'],
  },
  {
    it: 'batches, tools and streams without a database',
    conf: `server { listen 127.0.0.1:80; location /a/ { dbrest_batch on; dbrest_mcp on; dbrest_live on; dbrest_listen a; } }`,
    says: ['dbrest_batch', 'dbrest_mcp', 'dbrest_live', 'dbrest_listen'].map(
      (name) => `GW624 "${name}" has no effect: it applies to no location with "dbrest_pass"`,
    ),
  },
  {
    it: 'notifications for strangers, for a token, and on a port of this machine',
    conf: `dbrest_schemas s; dbrest_max_rows 9; dbrest_listen a b;
      server { listen 443; location = /a { dbrest_pass embedded; dbrest_anon_role anon; limit_except GET { deny all; } }
        location = /b { dbrest_pass embedded; dbrest_jwt_secret \${file:secret}; } }
      server { listen 127.0.0.1:80; location = /c { dbrest_pass embedded; dbrest_anon_role anon; } }`,
    secret: 'kD9vQ2mXz7LwB4nRt8YpJ5sHc3FgUa6E',
    says: ['GW627 anyone can follow all notifications of "a", "b"'],
  },
  {
    it: 'a timeout of an hour, and one of five minutes',
    conf: 'dbrest_timeout 1h; server { dbrest_timeout 5m; }',
    says: ['GW613 "dbrest_timeout 1h" lets one request hold a connection for that long'],
  },
];

testGroup('GW6', [...secrets, ...connections, ...reach, ...places]);
