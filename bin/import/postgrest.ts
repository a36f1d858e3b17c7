import { isPlainValue } from '../../src/config/index.ts';
import {
  databaseWord,
  Draft,
  type ImportedConfig,
  readSettings,
  type SecretKeeper,
  secretWord,
  type Setting,
} from './draft.ts';

type Get = (key: string) => Setting | undefined;

const DEFAULT_PORT = '3000';

/** Returns the words of `listen` for each address. As in PostgREST, a Unix socket replaces the port. */
function listenArgs(get: Get): readonly (readonly string[])[] {
  const [host, port] = [get('server-host')?.value, get('server-port')?.value ?? DEFAULT_PORT];
  const socket = get('server-unix-socket')?.value;
  return socket === undefined ? addresses(host, port) : [[`unix:${socket}`]];
}

/** Returns the addresses of a host. `!4` and the like are from Haskell's libraries: any address of a family. */
function addresses(host = '!4', port: string): readonly (readonly string[])[] {
  if (host === '*' || host === '*4' || host === '*6') return [[port], [`[::]:${port}`]];
  if (host === '!4') return [[port]];
  if (host === '!6') return [[`[::]:${port}`]];
  return [[`${host.includes(':') ? `[${host}]` : host}:${port}`]];
}

/** Adds the probes of PostgREST's admin server. */
function addAdmin(http: Draft, get: Get): void {
  const port = get('admin-server-port')?.value;
  const host = get('admin-server-host')?.value ?? get('server-host')?.value;
  if (port === undefined) return;
  http.block('server', [], (server) => {
    for (const args of addresses(host, port)) server.add('listen', ...args);
    for (const endpoint of ['live', 'ready', 'metrics']) {
      server.block('location', ['=', `/${endpoint}`], (location) => location.add('control_api', endpoint));
    }
  });
}

/** Older names of settings. */
const ALIASES: ReadonlyMap<string, string> = table({
  'db-schema': 'db-schemas',
  'max-rows': 'db-max-rows',
  'pre-request': 'db-pre-request',
  'role-claim-key': 'jwt-role-claim-key',
  'root-spec': 'db-root-spec',
  'secret-is-base64': 'jwt-secret-is-base64',
  'db-pool-timeout': 'db-pool-acquisition-timeout',
});

interface Carried {
  readonly directive: string;
  /** Returns the words of the directive, or the reason why it is left out; `undefined` if it is not needed. */
  readonly args: (value: string) => readonly string[] | string | undefined;
}

const MOST_CONNECTIONS = 16;

const same = (value: string): readonly string[] => [value];
const flag = (value: string): readonly string[] => {
  if (/^(?:true|1)$/i.test(value)) return ['on'];
  return /^(?:false|0)$/i.test(value) ? ['off'] : [value];
};

/** Settings that correspond to one directive of a location. */
const ONE_TO_ONE: Readonly<Record<string, Carried>> = {
  'db-schemas': { directive: 'dbrest_schemas', args: (value) => [names(value)] },
  'db-extra-search-path': { directive: 'dbrest_extra_search_path', args: (value) => [names(value)] },
  'db-anon-role': { directive: 'dbrest_anon_role', args: same },
  'jwt-aud': { directive: 'dbrest_jwt_audience', args: same },
  'jwt-role-claim-key': { directive: 'dbrest_jwt_role_claim', args: same },
  'db-max-rows': { directive: 'dbrest_max_rows', args: same },
  'db-pre-request': { directive: 'dbrest_pre_request', args: same },
  'db-tx-end': { directive: 'dbrest_tx_end', args: same },
  'db-pool': { directive: 'dbrest_pool_size', args: poolSize },
  'db-pool-acquisition-timeout': { directive: 'dbrest_pool_timeout', args: (value) => [`${value}s`] },
  'db-pool-max-lifetime': { directive: 'dbrest_pool_lifetime', args: poolLifetime },
  'db-aggregates-enabled': { directive: 'dbrest_aggregates', args: flag },
  'db-plan-enabled': { directive: 'dbrest_plan', args: flag },
  'db-config': { directive: 'dbrest_config', args: flag },
  'openapi-mode': { directive: 'dbrest_openapi', args: (value) => [value === 'disabled' ? 'off' : value] },
  'db-root-spec': { directive: 'dbrest_root', args: same },
  'openapi-server-proxy-uri': { directive: 'dbrest_openapi_server', args: same },
  'server-trace-header': { directive: 'dbrest_trace_header', args: same },
  'url-use-legacy-target-names': { directive: 'dbrest_legacy_target_names', args: flag },
  'server-timing-enabled': { directive: 'dbrest_server_timing', args: flag },
  'server-cors-allowed-origins': {
    directive: 'dbrest_cors_origins',
    args: (value) => value.split(',').map((origin) => origin.trim()),
  },
};

/** Returns the names of a list. In PostgREST, quotes in such lists are a part of the name. */
function names(value: string): string {
  return value
    .split(',')
    .map((name) => name.trim())
    .map((name) => (name.includes('"') ? `"${name.replaceAll('"', '""')}"` : name))
    .join(', ');
}

function poolSize(value: string): readonly string[] | string {
  return Number(value) > MOST_CONNECTIONS
    ? `each worker has up to ${MOST_CONNECTIONS} connections; more workers have more`
    : [value];
}

const LONGEST_LIFETIME_S = 86_400;

function poolLifetime(value: string): readonly string[] | string {
  if (!/^\d+$/.test(value)) return [value];
  const seconds = Number(value);
  return seconds >= 1 && seconds <= LONGEST_LIFETIME_S ? [`${seconds}s`] : 'a connection lives 1s to 1d';
}

const OWN_POOL = 'the pool looks after its connections itself';

/** Reasons for leaving out settings. */
const NOT_CARRIED: ReadonlyMap<string, string> = table({
  'db-channel': 'gw listens on the channels "pgrst" and "gw"',
  'db-channel-enabled': 'gw always listens for changes of the schema',
  'db-hoisted-tx-settings': 'of the settings of a role all are applied',
  'db-prepared-statements': 'gw prepares its statements; a pooler in between must allow that',
  'db-use-legacy-gucs': 'request headers, cookies and claims are read as JSON settings',
  'db-pool-max-idletime': OWN_POOL,
  'db-pool-automatic-recovery': OWN_POOL,
  'jwt-cache-max-lifetime': 'verified tokens are remembered until they expire',
  'jwt-cache-max-entries': 'the latest 1000 verified tokens are remembered',
  'jwt-cache-max-size': 'the latest 1000 verified tokens are remembered',
  'log-query': 'statements are for the log of the database: log_statement',
  'openapi-security-active': 'the description has its security scheme where there is a secret',
  'raw-media-types': 'functions with domains for media types take its place',
  'server-unix-socket-mode': 'the socket is made with the umask of the process',
});

/** Values of settings without counterpart that have no effect. */
const AS_EVER: ReadonlyMap<string, RegExp> = table({
  'db-channel': /^(?:pgrst|gw)$/,
  'db-channel-enabled': /^(?:true|1)$/i,
  'db-prepared-statements': /^(?:true|1)$/i,
  'db-use-legacy-gucs': /^(?:false|0)$/i,
  'db-pool-automatic-recovery': /^(?:true|1)$/i,
  'log-query': /^(?:disabled|false|0)$/i,
});

/** Returns a table without inherited names, because the file may contain any name. */
function table<T>(rows: Readonly<Record<string, T>>): ReadonlyMap<string, T> {
  return new Map(Object.entries(rows));
}

/** Settings for which an empty value differs from a missing one. */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set(['db-extra-search-path']);

/** Converts a configuration of PostgREST. A string gives the fault of the text. */
export function importPostgrest(text: string, keeper: SecretKeeper): ImportedConfig | string {
  const { settings: read, strange, broken } = readSettings(text);
  if (broken !== undefined) return `has an invalid setting in line ${broken}`;
  const settings = new Map(
    read.flatMap((setting) => {
      const key = ALIASES.get(setting.key) ?? setting.key;
      return setting.value === '' && !MAY_BE_EMPTY.has(key) ? [] : [[key, setting] as const];
    }),
  );
  const importer = new Importer(settings, keeper);
  const draft = importer.write();
  for (const line of strange) importer.leave(`line ${line}`, 'it is no setting');
  importer.addNotes(draft);
  return { draft, notCarried: importer.left.map(({ key }) => key), secrets: keeper.kept };
}

class Importer {
  readonly left: { key: string; why: string }[] = [];
  readonly #settings: ReadonlyMap<string, Setting>;
  readonly #keeper: SecretKeeper;
  readonly #used = new Set<string>();

  constructor(settings: ReadonlyMap<string, Setting>, keeper: SecretKeeper) {
    this.#settings = settings;
    this.#keeper = keeper;
  }

  leave(key: string, why: string): void {
    this.left.push({ key, why });
  }

  write(): Draft {
    const draft = new Draft();
    const level = this.#text('log-level');
    if (level !== undefined) draft.add('error_log', 'stderr', level);
    draft.block('http', [], (http) => {
      http.block('server', [], (server) => {
        for (const args of listenArgs(this.#get)) server.add('listen', ...args);
        server.block('location', ['/'], (location) => this.#location(location));
      });
      addAdmin(http, this.#get);
    });
    for (const [key, { value }] of this.#settings) {
      if (this.#used.has(key) || AS_EVER.get(key)?.test(value)) continue;
      this.leave(key, NOT_CARRIED.get(key) ?? 'gw does not know this setting');
    }
    return draft;
  }

  /** Adds the notes at the top of the configuration. */
  addNotes(draft: Draft): void {
    const notes = new Draft();
    notes.comment('From a configuration of PostgREST, by gw import.');
    for (const { variable, of } of this.#keeper.kept) {
      notes.comment(`Needs the environment variable ${variable}: ${of}.`);
    }
    if (this.left.length > 0) notes.comment('Not carried over:');
    for (const { key, why } of this.left) notes.comment(`  ${key}: ${why}`);
    draft.statements.unshift(...notes.statements);
  }

  #location(location: Draft): void {
    location.add('dbrest_pass', this.#database());
    this.#secret(location);
    for (const [key, { directive, args }] of Object.entries(ONE_TO_ONE)) {
      const value = this.#text(key);
      const words = value === undefined ? undefined : args(value);
      if (Array.isArray(words)) location.add(directive, ...(words as readonly string[]));
      else if (typeof words === 'string') this.leave(key, words);
    }
    if (!this.#settings.has('db-anon-role') && !this.#settings.has('jwt-secret')) {
      location.comment(
        'PostgREST refuses every request without db-anon-role and jwt-secret. Remove this line when',
      );
      location.comment(
        'dbrest_anon_role or dbrest_jwt_secret is set, here or, with dbrest_config, in the database.',
      );
      location.add('deny', 'all');
    }
    // Defaults of PostgREST that differ from gw's.
    if (!this.#settings.has('db-config')) location.add('dbrest_config', 'on');
    if (!this.#settings.has('db-aggregates-enabled')) location.add('dbrest_aggregates', 'off');
    location.add('dbrest_jwt_invalid', 'reject');
    this.#appSettings(location);
    this.#preConfig(location);
    location.comment(
      'PostgREST takes bodies of any size and lets the database decide how long a request may run:',
    );
    location.comment('client_max_body_size (1m) and dbrest_timeout (15s) bound them here.');
  }

  #appSettings(location: Draft): void {
    for (const [key, setting] of this.#settings) {
      if (!key.startsWith('app.settings.')) continue;
      this.#used.add(key);
      const name = key.slice('app.settings.'.length);
      const word = isPlainValue(name, setting.value)
        ? setting.value
        : secretWord(setting, { keeper: this.#keeper, of: key });
      location.add('dbrest_setting', name, word);
    }
  }

  /** Adds a directive that gw refuses, because the function may set limits. */
  #preConfig(location: Draft): void {
    const preConfig = this.#text('db-pre-config');
    if (preConfig === undefined) return;
    location.comment(
      'gw has no db-pre-config: what the function sets has to be set by "alter role", or here.',
    );
    location.add('dbrest_pre_config', preConfig);
  }

  #database(): string {
    const setting = this.#get('db-uri');
    // The variables of libpq are not read.
    if (!setting || /^postgres(?:ql)?:\/\/$/.test(setting.value)) {
      return this.#keeper.keep('DATABASE_URL', 'the connection string of the database');
    }
    return databaseWord(setting, this.#keeper);
  }

  #secret(location: Draft): void {
    const isBase64 = /^(?:true|1)$/i.test(this.#text('jwt-secret-is-base64') ?? '');
    const setting = this.#get('jwt-secret');
    if (!setting) return;
    const word = secretWord(setting, { keeper: this.#keeper, of: 'jwt-secret', name: 'JWT_SECRET' });
    location.add('dbrest_jwt_secret', isBase64 ? `{"kty":"oct","alg":"HS256","k":"${word}"}` : word);
  }

  #text(key: string): string | undefined {
    return this.#get(key)?.value;
  }

  readonly #get = (key: string): Setting | undefined => {
    this.#used.add(key);
    return this.#settings.get(key);
  };
}
