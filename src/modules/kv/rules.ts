import type { DirectiveNode } from '../../../grammar/index.ts';
import { type BlockView, type ComplexValue, hostOf, isLocal } from '../../config/index.ts';
import {
  type CheckedModule,
  KEEP_OUT,
  type LocationMatch,
  matchOf,
  type ModuleRule,
  type Problem,
} from '../../contract/index.ts';
import { mayCache } from '../../cache/index.ts';
import { type CommandName, COMMANDS } from './commands.ts';
import { STORED } from './caching/index.ts';
import type { KvConfig } from './directives.ts';
import { tlsDirectives } from './tls.ts';

type Pass = NonNullable<KvConfig['pass']>;

/** A block with a `kv_pass`. */
interface ServedStore {
  /** Its `kv_pass` directive. */
  readonly node: DirectiveNode;
  readonly block: BlockView;
  readonly settings: KvConfig & { readonly pass: Pass };
}

/** Returns every block with a `kv_pass`. */
function servedStores(config: CheckedModule<KvConfig>): readonly ServedStore[] {
  return config.uses('kv_pass').flatMap(({ node, block }) => {
    const settings = config.configIn(block);
    const { pass } = settings;
    return pass ? [{ node, block, settings: { ...settings, pass } }] : [];
  });
}

/** Returns the method of requests that run a command. */
function methodOf(command: CommandName): string | undefined {
  return COMMANDS[command].methods[0];
}

const STORE_REPLIES = 'kv_cache replies; kv_pass 127.0.0.1:6379; kv_key s:$uri;';
const withCache = (text: string): string => `proxy_cache_path /var/cache/gw keys_zone=replies:1m;
server {
  listen 127.0.0.1:80;
  location /get/ { ${STORE_REPLIES} ${text} }
}`;

const kvCacheIdle: ModuleRule<KvConfig> = {
  id: 'GW709',
  slug: 'kv-cache-idle',
  severity: 'warning',
  summary: 'a "kv_cache" that stores nothing',
  why: 'Replies have no lifetime of their own, so nothing is stored without "kv_cache_valid". Only replies to get, mget, exists, strlen and hget are stored.',
  fix: 'Set a lifetime: "kv_cache_valid 10m;". A change of a key removes its replies earlier.',
  bad: { in: 'http', text: withCache('') },
  good: { in: 'http', text: withCache('kv_cache_valid 10m;') },
  *check(config): Iterable<Problem> {
    for (const { block, settings } of servedStores(config)) {
      const [at] = config.nodesIn(block, 'cache');
      if (!at || !mayCache(settings)) continue;
      const { command, cacheValidMs } = settings;
      if (!STORED.has(command)) {
        // An inherited cache is not meant for every location.
        if (block.own('kv_cache').length > 0)
          yield { at, message: `replies to "${command}" are never stored`, hint: 'remove "kv_cache"' };
      } else if (cacheValidMs === undefined) {
        yield {
          at,
          message: 'no reply is stored without "kv_cache_valid"',
          hint: 'add "kv_cache_valid 10m"',
        };
      }
    }
  },
};

const kvWritePublic: ModuleRule<KvConfig> = {
  id: 'GW701',
  slug: 'kv-write-public',
  severity: 'error',
  summary: 'a command that changes the store without access control',
  why: 'Anyone who finds the address can change, delete or fill the store.',
  fix: 'Restrict access with "allow" and "deny", "auth_basic" or "auth_request", or listen on a loopback address or a Unix socket.',
  bad: {
    in: 'http',
    text: 'server { listen 80; location /set/ { kv_pass 127.0.0.1:6379; kv_key s:$uri; kv_command del; } }',
  },
  good: {
    in: 'http',
    text: `server {
  listen 80;
  location /set/ { allow 10.0.0.0/8; deny all; kv_pass 127.0.0.1:6379; kv_key s:$uri; kv_command del; }
}`,
  },
  *check(config): Iterable<Problem> {
    for (const { node } of config.exposed('kv-write-public')) {
      yield {
        at: node,
        message: `"kv_command ${node.args[0]?.value}" can be called by anyone`,
        hint: KEEP_OUT,
      };
    }
  },
};

const kvDangerous: ModuleRule<KvConfig> = {
  id: 'GW703',
  slug: 'kv-dangerous',
  severity: 'error',
  summary: 'a command that affects the whole store',
  why: 'FLUSHALL, CONFIG, EVAL, KEYS and similar commands empty, stop, block or reconfigure a store. No location may run them, so the configuration does not load.',
  fix: 'Use one of the fourteen commands that are about one key. Run others with redis-cli.',
  bad: { text: 'location = /clear { kv_pass 127.0.0.1:6379; kv_key x; kv_command flushall; }' },
  good: { text: 'location = /clear { kv_pass 127.0.0.1:6379; kv_key x; kv_command del; }' },
};

/** Variables that clients can set to any value. */
const FREE = /^(?:arg_|http_|cookie_|args$|query_string$|request_body$|is_args$)/;
/** Variables that begin with the path of the location. */
const PATH = /^(?:uri|document_uri|request_uri)$/;

const kvNoPrefix: ModuleRule<KvConfig> = {
  id: 'GW704',
  slug: 'kv-no-prefix',
  severity: 'warning',
  summary: 'clients can choose any key of the store',
  why: 'Clients can read everything in the store by its key: sessions, tokens, the data of other applications.',
  fix: 'Begin the key with a fixed text: "kv_key page:$1;".',
  bad: {
    in: 'http',
    text: 'server { listen 80; location ~ ^/pages/(.+)$ { kv_pass 127.0.0.1:6379; kv_key $1; } }',
  },
  good: {
    in: 'http',
    text: 'server { listen 80; location ~ ^/pages/(.+)$ { kv_pass 127.0.0.1:6379; kv_key page:$1; } }',
  },
  *check(config): Iterable<Problem> {
    for (const store of servedStores(config)) {
      const { node, block, settings } = store;
      const asMany = settings.command === 'mget';
      if (settings.command === 'ping' || !(asMany || isFree(store))) continue;
      if (!config.isOpen(block, methodOf(settings.command))) continue;
      yield {
        at: config.nodesIn(block, asMany ? 'command' : 'key')[0] ?? node,
        message: asMany
          ? '"kv_command mget" lets clients read any keys of the store'
          : 'clients can choose any key of the store',
        hint: asMany
          ? 'restrict access, or give each key a location of its own'
          : 'begin "kv_key" with a fixed text: kv_key page:$1',
      };
    }
  },
};

/** Tells whether the client controls the first character of the key. */
function isFree({ block, settings: { key } }: ServedStore): boolean {
  const match = matchOf(block);
  const isWhole = match?.kind === 'prefix' && match.path === '/';
  if (!key) return isWhole;
  return key.parts.length > 0 && key.parts.every((part) => isChosen(part, { match, isWhole }));
}

function isChosen(
  part: ComplexValue['parts'][number],
  { match, isWhole }: { match: LocationMatch | undefined; isWhole: boolean },
): boolean {
  if (typeof part === 'string') return part === '';
  if ('capture' in part) return true;
  if (PATH.test(part.variable)) return isWhole;
  return FREE.test(part.variable) || (match?.kind === 'regex' && match.regex.names.includes(part.variable));
}

const kvPlainRemote: ModuleRule<KvConfig> = {
  id: 'GW705',
  slug: 'kv-plain-remote',
  severity: 'warning',
  summary: 'a store on another machine without TLS or without a password',
  why: 'Keys, values and the password can be read on the network path; a store without a password accepts any client that can reach it.',
  fix: 'Use a URL with both: "rediss://:${file:/run/secrets/redis}@host:6379".',
  bad: { text: 'location = /hits { kv_pass 10.1.2.3:6379; kv_key hits; }' },
  good: {
    text: 'location = /hits { kv_pass "rediss://:${file:redis.password}@10.1.2.3:6379"; kv_key hits; }',
    files: { 'redis.password': '8hYqPz3vTn' },
  },
  *check(config): Iterable<Problem> {
    for (const { node, settings } of servedStores(config)) {
      const { pass } = settings;
      if ((pass.kind !== 'inet' && pass.kind !== 'name') || isHere(pass, config)) continue;
      const missing = [pass.tls ? [] : 'TLS', pass.password === undefined ? 'a password' : []].flat();
      if (missing.length === 0) continue;
      yield {
        at: node,
        message: `"kv_pass" reaches another machine without ${missing.join(' and without ')}`,
        hint: 'use a URL: rediss://:password@host:port',
      };
    }
  },
};

/** Tells whether the store runs on this machine. A name is an upstream or a host. */
function isHere(pass: Extract<Pass, { kind: 'inet' | 'name' }>, config: CheckedModule<KvConfig>): boolean {
  if (pass.kind === 'inet') return isLocal(pass.host);
  const group = config.upstream(pass.name);
  const servers = group?.own('server').map(({ args }) => args[0]?.value ?? '') ?? [pass.name];
  return servers.every((server) => isLocal(hostOf(server)));
}

const kvKeyVariableEmpty: ModuleRule<KvConfig> = {
  id: 'GW707',
  slug: 'kv-key-variable-empty',
  severity: 'warning',
  summary: 'a key that is incomplete if an argument is missing',
  why: 'All requests without the argument use the key "user:": they read and write the same value.',
  fix: 'Refuse such requests: if ($arg_id = "") { return 400; }.',
  bad: { text: 'location = /user { kv_pass 127.0.0.1:6379; kv_key user:$arg_id; }' },
  good: {
    text: 'location = /user { if ($arg_id = "") { return 400; } kv_pass 127.0.0.1:6379; kv_key user:$arg_id; }',
  },
  *check(config): Iterable<Problem> {
    for (const { node, block, settings } of servedStores(config)) {
      const variable = settings.key && mayBeEmpty(config, settings.key, block);
      if (variable === undefined) continue;
      yield {
        at: config.nodesIn(block, 'key')[0] ?? node,
        message: `"$${variable}" may be empty: all such requests share one key`,
        hint: `refuse them: if ($${variable} = "") { return 400; }`,
      };
    }
  },
};

/** Returns a variable of the key that may be empty. Keys of one part are left out: an empty key is refused. */
function mayBeEmpty(
  config: CheckedModule<KvConfig>,
  { parts }: ComplexValue,
  block: BlockView,
): string | undefined {
  if (parts.length < 2) return undefined;
  return parts
    .flatMap((part) => (typeof part === 'object' && 'variable' in part ? part.variable : []))
    .find((name) => /^(?:arg|http|cookie)_/.test(name) && !config.rejectsEmpty(block, name));
}

const kvEmbeddedMulti: ModuleRule<KvConfig> = {
  id: 'GW708',
  slug: 'kv-embedded-multi',
  severity: 'info',
  summary: 'the embedded store on a gateway that other machines can reach',
  why: 'The store is local to this machine. A second gateway has a store of its own, so clients use one or the other at random.',
  fix: 'Use it only with a single gateway. For several, run Redis or Valkey.',
  bad: { in: 'http', text: 'server { listen 80; location = /hits { kv_pass embedded; kv_key hits; } }' },
  good: {
    in: 'http',
    text: 'server { listen 80; location = /hits { kv_pass 127.0.0.1:6379; kv_key hits; } }',
  },
  *check(config): Iterable<Problem> {
    const first = servedStores(config).find(
      ({ block, settings }) => settings.pass.kind === 'embedded' && config.isPublic(block),
    );
    if (first) yield { at: first.node, message: 'the embedded store is local to this machine' };
  },
};

const kvSslUnverified: ModuleRule<KvConfig> = {
  id: 'GW710',
  slug: 'kv-ssl-unverified',
  severity: 'warning',
  summary: 'the certificate of a store on another machine is not verified',
  why: 'With "kv_ssl_verify off", anyone on the network path can impersonate the store and read the password: the encryption protects nothing.',
  fix: 'Remove "kv_ssl_verify off", and name the authority of the store with "kv_ssl_trusted_certificate".',
  bad: {
    text: 'location = /hits { kv_pass "rediss://:${file:redis.password}@10.1.2.3"; kv_key hits; kv_ssl_verify off; }',
    files: { 'redis.password': '8hYqPz3vTn' },
  },
  good: {
    text: 'location = /hits { kv_pass "rediss://:${file:redis.password}@10.1.2.3"; kv_key hits; }',
    files: { 'redis.password': '8hYqPz3vTn' },
  },
  *check(config): Iterable<Problem> {
    for (const { node, block, settings } of servedStores(config)) {
      if (settings.sslVerify || !goesOutOverTls(settings.pass, config)) continue;
      yield {
        at: config.nodesIn(block, 'sslVerify')[0] ?? node,
        message: '"kv_pass" over TLS does not verify the certificate of the store',
        hint: 'remove "kv_ssl_verify off", and add "kv_ssl_trusted_certificate"',
      };
    }
  },
};

/** Tells whether a store is reached over TLS and may be on another machine. */
function goesOutOverTls(pass: Pass, config: CheckedModule<KvConfig>): boolean {
  if (pass.kind === 'inet' || pass.kind === 'name') return pass.tls === true && !isHere(pass, config);
  const [first] = pass.kind === 'variable' ? pass.value.parts : [];
  return typeof first === 'string' && /^rediss:/i.test(first);
}

const kvSslIdle: ModuleRule<KvConfig> = {
  id: 'GW711',
  slug: 'kv-ssl-idle',
  severity: 'warning',
  summary: '"kv_ssl_" directives for a store that is not reached over TLS',
  why: 'Only an address that begins with "rediss://" is reached over TLS. Keys, values and the password are sent in plain text.',
  fix: 'Write the address as "rediss://host:port", or remove the directives.',
  bad: { text: 'location = /hits { kv_pass 127.0.0.1:6380; kv_key hits; kv_ssl_name cache.example; }' },
  good: {
    text: 'location = /hits { kv_pass rediss://127.0.0.1:6380; kv_key hits; kv_ssl_name cache.example; }',
  },
  *check(config): Iterable<Problem> {
    for (const { block, settings } of servedStores(config)) {
      const { pass } = settings;
      if (pass.kind === 'variable' || (pass.kind !== 'embedded' && pass.tls)) continue;
      // Those of "http" and "server" are meant for other locations, too.
      const at = Object.keys(tlsDirectives).flatMap((name) => block.own(name))[0];
      if (at)
        yield {
          at,
          message: `"${at.name.value}" has no effect: the store is not reached over TLS`,
          hint: 'begin the address with "rediss://"',
        };
    }
  },
};

const storeUnreachable: ModuleRule<KvConfig> = {
  id: 'GW750',
  slug: 'store-unreachable',
  severity: 'error',
  live: true,
  summary: 'a store that cannot be reached',
  why: 'The gateway starts, but the location responds with 502 until the store can be reached.',
  fix: 'Check that the store runs and that the address is right. For "SSL certificate verify error", name the authority of the store with "kv_ssl_trusted_certificate".',
  bad: {
    text: `# nothing listens there
location = /hits { kv_pass 127.0.0.1:6380; kv_key hits; kv_command get; }`,
  },
  good: {
    text: `# Redis listens there
location = /hits { kv_pass 127.0.0.1:6379; kv_key hits; kv_command get; }`,
  },
};

const storeRefused: ModuleRule<KvConfig> = {
  id: 'GW751',
  slug: 'store-refused',
  severity: 'error',
  live: true,
  summary: 'a store that refuses the login',
  why: 'All requests fail.',
  fix: 'Put the user and the password into the address: "redis://user:${file:/run/secrets/redis}@host".',
  bad: {
    text: `# its redis.conf says: requirepass
location = /hits { kv_pass 127.0.0.1:6379; kv_key hits; kv_command get; }`,
  },
  good: {
    text: `# its redis.conf says: requirepass
location = /hits { kv_pass "redis://:\${file:redis.password}@127.0.0.1:6379"; kv_key hits; kv_command get; }`,
    files: { 'redis.password': '8hYqPz3vTn' },
  },
};

const storeReadOnly: ModuleRule<KvConfig> = {
  id: 'GW752',
  slug: 'store-read-only',
  severity: 'error',
  live: true,
  summary: 'a writing command on a replica',
  why: 'All requests fail: a replica only takes writes from its master.',
  fix: 'Use the address of the master.',
  bad: {
    text: `# its redis.conf says: replicaof
location = /hits { kv_pass 127.0.0.1:6379; kv_key hits; kv_command incr; }`,
  },
  good: {
    text: `# it is a master
location = /hits { kv_pass 127.0.0.1:6379; kv_key hits; kv_command get; }`,
  },
};

/** The rules about the key-value store. */
export const rules: readonly ModuleRule<KvConfig>[] = [
  kvCacheIdle,
  kvWritePublic,
  kvDangerous,
  kvNoPrefix,
  kvPlainRemote,
  kvKeyVariableEmpty,
  kvEmbeddedMulti,
  kvSslUnverified,
  kvSslIdle,
  storeUnreachable,
  storeRefused,
  storeReadOnly,
];
