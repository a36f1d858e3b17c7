import { type GroupCase, testGroup } from './group-cases.ts';

const TWO = 'server 127.0.0.1:8001; server 127.0.0.1:8002;';
const app = (inside: string): string => `upstream app { ${inside} }`;
const api = (inside = '', target = 'app'): string =>
  `location = /${target} { dynamic_upstreams_api; dynamic_upstreams_target ${target}; ${inside} }`;
const here = (...locations: readonly string[]): string =>
  `server { listen 127.0.0.1:80; ${locations.join(' ')} }`;

const blocks: readonly GroupCase[] = [
  { it: 'a server that serves', conf: app('server 127.0.0.1:8001; server 127.0.0.1:8002 down;'), says: [] },
  {
    it: 'no server but those that drain and a backup that is down',
    conf: app('server 127.0.0.1:8001 drain; server 127.0.0.1:8002 backup down;'),
    says: ['GW941 no server of upstream "app" takes new requests'],
  },
  {
    it: 'the servers of a managed upstream may be replaced',
    conf: `${app('server 127.0.0.1:8001 down; dynamic_upstreams_managed;')} ${here(api())}`,
    says: [],
  },
  {
    it: 'a header that binds to the only server',
    conf: app('server unix:/run/app.sock; upstream_balancer_sticky_header X-User;'),
    says: ['GW942 "upstream_balancer_sticky_header" has no effect with only one server'],
  },
  {
    it: 'a name may have several addresses',
    conf: app('server app.example:80; sticky route $arg_r;'),
    says: [],
  },
  {
    it: 'a key of text only, of the method that applies',
    conf: app(`${TWO} ip_hash; hash abc;`),
    says: ['GW943 the key has no variable: all requests go to one server'],
  },
  { it: 'a key with a variable in it', conf: app(`${TWO} hash a-$uri;`), says: [] },
  {
    it: 'slow starts of servers that never rest',
    conf: app('server 127.0.0.1:8001 slow_start=5s max_fails=0; server 127.0.0.1:8002 slow_start=5s;'),
    says: ['GW944 "slow_start" has no effect with "max_fails=0"'],
  },
  {
    it: 'slow starts of servers that are checked',
    conf: app('server 127.0.0.1:8001 slow_start=5s max_fails=0; server 127.0.0.1:8002; health_check;'),
    says: [],
  },
  {
    it: 'settings of bound requests that nothing binds',
    conf: app(
      `${TWO} sticky cookie srv; upstream_balancer_cookie_attrs "Path=/"; upstream_balancer_fallback off;`,
    ),
    says: [
      'GW945 "upstream_balancer_cookie_attrs" has no effect without "upstream_balancer_sticky_cookie"',
      'GW945 "upstream_balancer_fallback" has no effect without "upstream_balancer_sticky_cookie" or "upstream_balancer_sticky_header"',
    ],
  },
  {
    it: 'a fallback of requests that a header binds',
    conf: app(`${TWO} upstream_balancer_sticky_header X-User; upstream_balancer_fallback off;`),
    says: [],
  },
];

testGroup('GW94', blocks);

const managed = app(`${TWO} dynamic_upstreams_managed;`);
const fixed = app(TWO);
const temporary = (directory: string): string => `GW956 files in "${directory}" do not survive a reboot`;

const groups: readonly GroupCase[] = [
  {
    it: 'sessions that are shared with nobody, and a cookie that is called so',
    conf: `${app(`${TWO} sticky learn create=$arg_s lookup=$arg_s zone=s:1m sync;`)}
      upstream two { ${TWO} sticky cookie sync; }`,
    says: ['GW957 "sync" has no effect: there is no cluster'],
  },
  {
    it: 'an API of another upstream',
    conf: `${managed} upstream other { ${TWO} dynamic_upstreams_managed; } ${here(api('', 'other'))}`,
    says: ['GW951 no location has "dynamic_upstreams_target app": nothing changes the peers'],
  },
  { it: 'an API that names the upstream in capitals', conf: `${managed} ${here(api('', 'APP'))}`, says: [] },
  { it: 'an API that only shows', conf: `${fixed} ${here(api())}`, says: [] },
  {
    it: 'a journal of an upstream that never changes',
    conf: `${fixed} ${here(api('dynamic_upstreams_journal a.json;'))}`,
    says: ['GW952 "dynamic_upstreams_journal" has no effect: upstream "app" is not managed'],
  },
  {
    it: 'a key of Redis beside a file',
    conf: `${managed} ${here(api('dynamic_upstreams_source file; dynamic_upstreams_source_file a.json; dynamic_upstreams_redis 127.0.0.1:6379 k;'))}`,
    says: ['GW953 "dynamic_upstreams_redis" has no effect: the source is "file"'],
  },
  {
    it: 'a file without a source is one',
    conf: `${managed} ${here(api('dynamic_upstreams_source_file a.json;'))}`,
    says: [],
  },
  {
    it: 'the same source in two locations',
    conf: `${managed} ${here(api('dynamic_upstreams_source_file a.json;'), api('dynamic_upstreams_source_file a.json;').replace('/app', '/b'))}`,
    says: [],
  },
  {
    it: 'two keys of one Redis',
    conf: `${managed} ${here(
      api('dynamic_upstreams_source redis; dynamic_upstreams_redis 127.0.0.1:6379 a;'),
      api('dynamic_upstreams_source redis; dynamic_upstreams_redis 127.0.0.1:6379 b;').replace('/app', '/b'),
    )}`,
    says: ['GW954 upstream "app" already has another source'],
  },
  {
    it: 'one journal under two names',
    conf: `${managed} upstream b { ${TWO} dynamic_upstreams_managed; } ${here(
      api('dynamic_upstreams_journal state/a.json;'),
      api('dynamic_upstreams_journal state/../state/a.json;', 'b'),
    )}`,
    says: ['GW955 "state/../state/a.json" is also the journal of upstream "app"'],
  },
  {
    it: 'a journal in shared memory',
    conf: `${managed} ${here(api('dynamic_upstreams_journal /dev/shm/gw/app.json;'))}`,
    says: [temporary('/dev/shm/')],
  },
  {
    it: 'a journal that leads to a temporary directory',
    conf: `${managed} ${here(api('dynamic_upstreams_journal /var/lib/../../tmp/app.json;'))}`,
    says: [temporary('/tmp/')],
  },
  {
    it: 'a journal whose directory only sounds temporary',
    conf: `${managed} ${here(api('dynamic_upstreams_journal /srv/tmp/app.json;'), api('dynamic_upstreams_journal tmp/app.json;').replace('/app', '/b'))}`,
    says: [],
  },
];

testGroup('GW95', groups);
