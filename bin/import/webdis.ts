import { type Access, accessTo, readRules, type Rule } from './acl.ts';
import { Draft, type ImportedConfig, type SecretKeeper } from './draft.ts';

/** The commands that both programs have, with the form of their paths. */
const COMMANDS = {
  get: 'key',
  set: 'key',
  del: 'key',
  incr: 'key',
  decr: 'key',
  expire: 'key',
  exists: 'key',
  ttl: 'key',
  strlen: 'key',
  hget: 'field',
  hset: 'field',
  hdel: 'field',
  mget: 'none',
  ping: 'none',
} as const satisfies Readonly<Record<string, string>>;

interface PathKind {
  /** The pattern of the location; commands may be in any case. */
  readonly pattern: (command: string) => string;
  /** Directives before `kv_pass`. */
  readonly directives: readonly (readonly string[])[];
}

/** Maps the third part of the path, still encoded, because a query is decoded once more. */
const FIELD_MAP = {
  args: ['$request_uri', '$webdis_field'],
  entry: ['~^/[^/?]+/[^/?]+/(?<encoded>[^/?]+)', '$encoded'],
} as const;

/** The forms of paths. A captured key is already decoded, as Webdis decodes the parts between slashes. */
const KINDS: Readonly<Record<(typeof COMMANDS)[keyof typeof COMMANDS], PathKind>> = {
  key: { pattern: (command) => `^/${command}/(?<key>.+)$`, directives: [['kv_key', '$key']] },
  field: {
    pattern: (command) => `^/${command}/(?<key>[^/]+)/[^/]+$`,
    directives: [
      ['set', '$args', 'field=$webdis_field'],
      ['kv_key', '$key'],
    ],
  },
  none: { pattern: (command) => `^/${command}$`, directives: [] },
};

/** The relevant parts of `webdis.json`. A text such as `$REDIS_HOST` refers to the environment. */
interface Settings {
  readonly [key: string]: unknown;
}

const USERS = 'webdis.users';

/** Tells whether a text looks like a configuration of Webdis. */
export function isWebdis(text: string): boolean {
  return parse(text) !== undefined && /"(?:redis_host|redis_socket|http_port)"\s*:/.test(text);
}

/** Converts a configuration of Webdis: commands that Webdis allows and gw has. A string gives the fault of the text. */
export function importWebdis(text: string, keeper: SecretKeeper): ImportedConfig | string {
  const settings = parse(text);
  return settings ? new Importer(settings, keeper).write() : 'is not a JSON object';
}

function parse(text: string): Settings | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Settings)
      : undefined;
  } catch {
    return undefined;
  }
}

class Importer {
  readonly #settings: Settings;
  readonly #keeper: SecretKeeper;
  readonly #usersFiles = new Map<string, readonly string[]>();
  readonly #left: { key: string; why: string }[] = [];

  constructor(settings: Settings, keeper: SecretKeeper) {
    this.#settings = settings;
    this.#keeper = keeper;
  }

  write(): ImportedConfig {
    const draft = new Draft();
    this.#process(draft);
    draft.block('http', [], (http) => {
      const largest = this.#word('http_max_request_size');
      if (largest !== undefined) {
        http.add('client_max_body_size', largest);
        http.add('kv_max_value_size', largest);
      }
      this.#tls(http);
      http.block('map', FIELD_MAP.args, (map) => map.add(...FIELD_MAP.entry));
      http.block('server', [], (server) => this.#server(server));
    });
    for (const [key, value] of Object.entries(this.#settings)) {
      const isUnset = value === null || value === false;
      if (CARRIED.has(key) || (isUnset && LEFT.has(key))) continue;
      this.#left.push({ key, why: LEFT.get(key) ?? 'gw does not know this setting' });
    }
    this.#addNotes(draft);
    return { draft, notCarried: this.#left.map(({ key }) => key), secrets: this.#keeper.kept };
  }

  #process(draft: Draft): void {
    const threads = this.#word('threads');
    if (threads !== undefined) draft.add('worker_processes', threads);
    if (this.#settings['daemonize'] === true) draft.add('daemon', 'on');
    const pidFile = this.#word('pidfile');
    if (pidFile !== undefined) draft.add('pid', pidFile);
    const level = LEVELS[Number(this.#settings['verbosity'] ?? 0)] ?? 'debug';
    const log = this.#word('logfile');
    if (log !== undefined) draft.add('error_log', log, level);
  }

  /** Adds the directives for a store that is reached over TLS. */
  #tls(http: Draft): void {
    const ssl = this.#ssl();
    if (ssl['enabled'] !== true) return;
    for (const [key, directive] of Object.entries(TLS)) {
      const value = ssl[key];
      if (value !== undefined && value !== null && value !== '') http.add(directive, wordOf(value));
    }
    this.#left.push({
      key: 'ssl',
      why: 'unlike Webdis, gw verifies that the certificate is for the host of the store, or for kv_ssl_name',
    });
    if (typeof ssl['path_to_certs'] === 'string')
      this.#left.push({
        key: 'ssl.path_to_certs',
        why: 'kv_ssl_trusted_certificate takes one file with all authorities',
      });
  }

  #ssl(): Settings {
    return (this.#settings['ssl'] ?? {}) as Settings;
  }

  #server(server: Draft): void {
    server.add(
      'listen',
      `${bracketed(this.#word('http_host') ?? '0.0.0.0')}:${this.#word('http_port') ?? '7379'}`,
    );
    server.comment('Pages of any site may read the answers, as with Webdis.');
    server.add('add_header', 'Access-Control-Allow-Origin', '*', 'always');
    const store = this.#store();
    const rules = readRules(this.#settings['acl']);
    const callable = Object.entries(COMMANDS)
      .map(([command, kind]) => ({ command, kind, access: accessTo(command, rules) }))
      .filter(({ access }) => access.kind !== 'nobody');
    // With one user file for all, the users of one command could call the others.
    const groups = new Set(
      callable.flatMap(({ access }) => (access.users.length > 0 ? access.users.join(':') : [])),
    );
    for (const { command, kind, access } of callable) {
      server.block('location', ['~*', KINDS[kind].pattern(command)], (location) => {
        this.#access(location, access, groups.size > 1 ? `${USERS}.${command}` : USERS);
        for (const [directive, ...args] of KINDS[kind].directives) location.add(directive as string, ...args);
        location.add('kv_pass', store);
        location.add('kv_command', command);
      });
    }
    this.#noteOtherCommands(rules);
  }

  #access(location: Draft, { kind, except, networks, users, either }: Access, usersFile: string): void {
    if (either) location.add('satisfy', 'any');
    for (const network of except) location.add('deny', network);
    for (const network of networks) location.add('allow', network);
    if (kind === 'some' && networks.length > 0) location.add('deny', 'all');
    if (users.length === 0) return;
    location.add('auth_basic', 'webdis');
    location.add('auth_basic_user_file', usersFile);
    this.#usersFiles.set(usersFile, users);
  }

  #noteOtherCommands(rules: readonly Rule[]): void {
    const named = new Set(rules.flatMap(({ enabled = [] }) => enabled.map((name) => name.toLowerCase())));
    const missing = [...named].filter((name) => name !== '*' && !Object.hasOwn(COMMANDS, name));
    if (missing.length > 0) this.#left.push({ key: 'acl', why: `gw has no command ${missing.join(', ')}` });
  }

  /** Returns the argument of `kv_pass`. */
  #store(): string {
    const socket = this.#word('redis_socket');
    const auth = this.#settings['redis_auth'] ?? undefined;
    if (socket !== undefined) {
      if (auth !== undefined)
        this.#left.push({ key: 'redis_auth', why: 'a login over a Unix socket cannot be written' });
      return `unix:${socket}`;
    }
    const host = bracketed(this.#word('redis_host') ?? '127.0.0.1');
    const address = `${host}:${this.#word('redis_port') ?? '6379'}`;
    const { enabled } = this.#ssl() as { enabled?: boolean };
    const database = this.#word('database') ?? '0';
    if (auth === undefined && enabled !== true && database === '0') return address;
    const [user, password] = (Array.isArray(auth) ? auth : ['', auth]) as readonly unknown[];
    const login = password === undefined ? '' : `${wordOf(user)}:${this.#password(password)}@`;
    return `redis${enabled === true ? 's' : ''}://${login}${address}${database === '0' ? '' : `/${database}`}`;
  }

  #password(password: unknown): string {
    const text = wordOf(password);
    const of = 'the password of redis_auth, percent-encoded as in a URL';
    const [, variable] = /^\$\{env:(\w+)\}$/.exec(text) ?? [];
    return variable === undefined
      ? this.#keeper.hide('REDIS_PASSWORD', of, encodeURIComponent(text))
      : this.#keeper.keep(variable, of);
  }

  #word(key: string): string | undefined {
    const value = this.#settings[key];
    return value === undefined || value === null ? undefined : wordOf(value);
  }

  #addNotes(draft: Draft): void {
    const notes = new Draft();
    notes.comment('From a configuration of Webdis, by gw import.');
    for (const line of DIFFERENCES) notes.comment(line);
    for (const { variable, of } of this.#keeper.kept)
      notes.comment(`Needs the environment variable ${variable}: ${of}.`);
    for (const [file, users] of this.#usersFiles) {
      notes.comment(
        `Needs in ${file} the users ${users.join(', ')}: gw hash-password --user NAME >> ${file}`,
      );
    }
    if (this.#left.length > 0) notes.comment('Not carried over:');
    for (const { key, why } of this.#left) notes.comment(`  ${key}: ${why}`);
    draft.statements.unshift(...notes.statements);
  }
}

/** Returns the word for a value of the file or of the environment. */
function wordOf(value: unknown): string {
  const text = String(value);
  return /^\$[A-Z][A-Z0-9_]*$/.test(text) ? `\${env:${text.slice(1)}}` : text;
}

/** Returns the host before a port, with brackets around an IPv6 address. */
function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('$') ? `[${host}]` : host;
}

const LEVELS = ['error', 'warn', 'notice', 'info'];

const DIFFERENCES = [
  'Commands that write take POST, with the value as the body (POST /SET/key), and answers are those of kv_*:',
  '{"value": ...} instead of {"GET": ...}; MGET takes /MGET?keys=a,b; a suffix such as .json is part of the key.',
];

const CARRIED: ReadonlySet<string> = new Set([
  'redis_host',
  'redis_port',
  'redis_socket',
  'redis_auth',
  'database',
  'http_host',
  'http_port',
  'http_max_request_size',
  'threads',
  'daemonize',
  'pidfile',
  'verbosity',
  'logfile',
  'ssl',
  'acl',
]);

/** The directives for the settings of `ssl`. */
const TLS: Readonly<Record<string, string>> = {
  ca_cert_bundle: 'kv_ssl_trusted_certificate',
  redis_sni: 'kv_ssl_name',
  client_cert: 'kv_ssl_certificate',
  client_key: 'kv_ssl_certificate_key',
};

const LEFT: ReadonlyMap<string, string> = new Map(
  Object.entries({
    pool_size: 'connections are shared by all requests of a worker; kv_connections makes them more',
    websockets: 'commands over WebSockets have no counterpart',
    hiredis: 'connections are kept alive by themselves',
    default_root: 'a location "= /" can answer in its place',
    user: 'start gw as this user',
    group: 'start gw as this group',
    log_fsync: 'the system writes logs out',
    http_max_keepalive: 'keepalive_requests bounds it',
  }),
);
