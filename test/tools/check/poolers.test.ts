import { type RuleCase, testRule } from './findings-in.ts';

const SUPABASE = 'aws-0-eu-central-1.pooler.supabase.com';
const NEON = 'ep-blue-sea-a1b2c3d4-pooler.c-2.eu-central-1.aws.neon.tech';
const RDS_PROXY = 'read.endpoint.proxy-c0ffee1234.eu-central-1.rds.amazonaws.com';

const at = (address: string, directives: string): string =>
  `location /api/ { dbrest_pass postgresql://authenticator@${address}/app; dbrest_schemas api; ${directives} }`;
const cachedAt = (address: string, directives = ''): string =>
  `proxy_cache_path /var/cache/gw keys_zone=rows:10m;
   server { listen 127.0.0.1:8080; ${at(address, `dbrest_cache rows; ${directives}`)} }`;

const unheard = (directive: string, name: string, loss = 'its streams get 503 (DBREST124)'): string =>
  `"${directive}" needs notifications, which ${name} does not forward: ${loss}`;
const perhapsUnheard = (directive: string, loss = 'its streams get 503 (DBREST124)'): string =>
  `"${directive}" needs notifications, but port 6432 is usually the port of a pooler: unless it keeps sessions, ${loss}`;

const notifications: readonly RuleCase[] = [
  {
    it: 'knows the transaction pooler of Supabase',
    text: at(`${SUPABASE}:6543`, 'dbrest_live on;'),
    says: [unheard('dbrest_live', 'the transaction pooler of Supabase')],
  },
  { it: 'lets the session pooler of Supabase be', text: at(`${SUPABASE}:5432`, 'dbrest_live on;') },
  { it: 'lets a server of Supabase itself be', text: at('db.abc.supabase.co', 'dbrest_live on;') },
  {
    it: 'knows the pooler of Neon, in capitals too',
    text: at(NEON.toUpperCase(), 'dbrest_listen orders; dbrest_live on;'),
    says: [unheard('dbrest_listen', 'the pooler of Neon'), unheard('dbrest_live', 'the pooler of Neon')],
  },
  { it: 'lets a server of Neon be', text: at(NEON.replace('-pooler', ''), 'dbrest_live on;') },
  {
    it: 'knows Amazon RDS Proxy',
    text: at(RDS_PROXY, 'dbrest_live on;'),
    says: [unheard('dbrest_live', 'Amazon RDS Proxy')],
  },
  {
    it: 'lets an instance and a cluster of Amazon be',
    text:
      at('app.c0ffee.eu-central-1.rds.amazonaws.com', 'dbrest_live on;') +
      at('app.cluster-c0ffee.eu-central-1.rds.amazonaws.com', 'dbrest_live on;').replace('/api', '/more'),
  },
  {
    it: 'knows a name that an address stands beside',
    text: at('', 'dbrest_live on;').replace(/postgresql:\S+/, `"host=${NEON} hostaddr=192.0.2.1";`),
    says: [unheard('dbrest_live', 'the pooler of Neon')],
  },
  {
    it: 'takes a name for more than a port',
    text: at(`a:6432,${NEON}:5432`, 'dbrest_live on;'),
    says: [unheard('dbrest_live', 'the pooler of Neon')],
  },
  {
    it: 'says of a port no more than it tells',
    text: at('127.0.0.1:6432', 'dbrest_live on;'),
    says: [perhapsUnheard('dbrest_live')],
  },
  {
    it: 'says nothing of a name that anybody may have',
    text: at('db-pooler.example.com', 'dbrest_live on;'),
  },
  { it: 'says nothing where only rows are served', text: at(NEON, 'dbrest_live off;') },
  {
    it: 'says that nothing is cached',
    in: 'http',
    text: cachedAt(NEON),
    says: [unheard('dbrest_cache', 'the pooler of Neon', 'nothing is stored')],
  },
  {
    it: 'says nothing of a cache that does not listen',
    in: 'http',
    text: cachedAt(NEON, 'dbrest_cache_listen off;'),
  },
];

const ON = 'dbrest_prepared_statements on;';
const unsuitable = (name: string): string =>
  `"dbrest_prepared_statements on" does not suit ${name}, which does not share prepared statements`;

const statements: readonly RuleCase[] = [
  {
    it: 'knows poolers without prepared statements',
    text: at(`${SUPABASE}:6543`, ON) + at(RDS_PROXY, ON).replace('/api', '/more'),
    says: [unsuitable('the transaction pooler of Supabase'), unsuitable('Amazon RDS Proxy')],
  },
  {
    it: 'lets poolers be that know them, or keep sessions',
    text: at(NEON, ON) + at(`${SUPABASE}:5432`, ON).replace('/api', '/more'),
  },
  {
    it: 'says nothing of "auto" and "off"',
    text: at(RDS_PROXY, '') + at(RDS_PROXY, ON.replace('on', 'off')).replace('/api', '/more'),
  },
  {
    it: 'says of a port no more than it tells',
    text: at('pgbouncer:6432', ON),
    says: [
      '"dbrest_prepared_statements on" needs a pooler that supports prepared statements, and port 6432 is usually the port of a pooler',
    ],
  },
];

const store = (address: string): string =>
  `cluster main { backend postgresql://gw@${address}/app; secret 0123456789abcdef; }`;
const unfit = (name: string): string => `${name} cannot be used for the store of a cluster`;

const stores: readonly RuleCase[] = [
  {
    it: 'refuses a pooler in each mode',
    in: 'http',
    text: store(SUPABASE),
    says: [unfit('the session pooler of Supabase')],
  },
  { it: 'knows Amazon RDS Proxy', in: 'http', text: store(RDS_PROXY), says: [unfit('Amazon RDS Proxy')] },
  {
    it: 'says of a port no more than it tells',
    in: 'http',
    text: store('127.0.0.1:6432'),
    says: [unfit('port 6432 is usually the port of a pooler, which')],
  },
  { it: 'lets a server be', in: 'http', text: store('db.example.com') },
  {
    it: 'says nothing of Redis',
    in: 'http',
    text: store('x').replace(/postgresql\S+/, 'redis://127.0.0.1:6432;'),
  },
];

testRule('dbrest-pooler-notifications', notifications);
testRule('dbrest-pooler-statements', statements);
testRule('cluster-store-pooler', stores);
