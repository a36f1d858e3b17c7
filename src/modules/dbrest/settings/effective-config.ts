import { nearest, type ArgReader, type ReadScope, type Rows } from '../../../config/index.ts';
import { openSecret } from '../auth/index.ts';
import { type DbrestConfig, directives } from '../directives/index.ts';
import type { StoredSetting } from '../schema/index.ts';
import { Report, type Word } from '../../../../grammar/index.ts';

/** A fault of a setting, which then has no effect. */
export interface SettingFinding {
  readonly level: 'notice' | 'warn';
  readonly name: string;
  /** Completes `"name" …`; quotes no secrets. */
  readonly message: string;
}

/** The configuration of a location with the settings of the database. */
interface EffectiveConfig {
  readonly config: DbrestConfig;
  readonly findings: readonly SettingFinding[];
  /** The settings that are in effect. */
  readonly applied: readonly string[];
}

const PREFIX = 'pgrst.';
const APP_PREFIX = 'app.settings.';
/** Says how `jwt_secret` is written, and has no effect alone. */
const IS_BASE64 = 'jwt_secret_is_base64';

/** Replaces values of the file by those of settings. A setting that is not accepted leaves the value of the file. */
export function effectiveConfig(file: DbrestConfig, settings: readonly StoredSetting[]): EffectiveConfig {
  return new Overlay(file, settings).result();
}

class Overlay {
  readonly #file: DbrestConfig;
  readonly #settings: readonly StoredSetting[];
  readonly #findings: SettingFinding[] = [];
  readonly #applied: string[] = [];
  readonly #values: Record<string, unknown> = {};
  readonly #appSettings = new Map<string, unknown>();

  constructor(file: DbrestConfig, settings: readonly StoredSetting[]) {
    this.#file = file;
    this.#settings = settings;
  }

  result(): EffectiveConfig {
    for (const setting of this.#settings) this.#take(setting);
    const { settings: ofFile = [] } = this.#file;
    if (this.#appSettings.size > 0) {
      const kept = ofFile.filter(({ name }) => !this.#appSettings.has(name));
      this.#values['settings'] = [...kept, ...this.#appSettings.values()];
    }
    const overlaid: DbrestConfig = { ...this.#file, ...(this.#values as Partial<DbrestConfig>) };
    const config = this.#withServedRoot(overlaid);
    this.#warnWithoutAuth(config);
    return { config, findings: this.#findings, applied: this.#applied };
  }

  #take({ name, value }: StoredSetting): void {
    if (value === null) return this.#warn(name, 'the value is too long');
    if (name.startsWith(APP_PREFIX)) return this.#takeAppSetting(name, name, value);
    const short = name.slice(PREFIX.length);
    if (short.startsWith(APP_PREFIX)) return this.#takeAppSetting(name, short, value);
    const counterpart = COUNTERPARTS.get(short);
    if (counterpart) {
      const given = short === 'jwt_secret' ? this.#decodedSecret(value) : value;
      const words = given === undefined ? undefined : counterpart.words(given);
      const { directive, expected = 'another value' } = counterpart;
      return this.#put(name, words ? readValue(directive, words, name) : { fault: `expected ${expected}` });
    }
    const why = WITHOUT_EFFECT.get(short);
    if (why !== undefined) this.#findings.push({ level: 'notice', name, message: `is ignored: ${why}` });
    else if (short !== IS_BASE64) this.#warn(name, unknownName(short));
    else this.#checkBase64(name, value);
  }

  /** `pgrst.app.settings.name` is taken after `app.settings.name`, so it overrides that. */
  #takeAppSetting(name: string, full: string, value: string): void {
    const read = readValue('dbrest_setting', [full, value], name);
    if ('fault' in read) return this.#warn(name, read.fault);
    this.#appSettings.set(full, read.value);
    this.#applied.push(name);
  }

  #put(name: string, read: ReadValue): void {
    const fault = 'fault' in read ? read.fault : faultOfKeys(read);
    if (fault !== undefined || 'fault' in read) return this.#warn(name, fault ?? 'unreadable');
    this.#values[read.field] = read.value;
    this.#applied.push(name);
  }

  /** The value of `jwt_secret` as gw writes it; `undefined`: it is not in base64. */
  #decodedSecret(value: string): string | undefined {
    const isBase64 = this.#settings.find(({ name }) => name === `${PREFIX}${IS_BASE64}`)?.value ?? '';
    if (!/^(?:true|on|1)$/i.test(isBase64)) return value;
    const trimmed = value.trim();
    if (!/^[\w+/-]+=*$/.test(trimmed)) return undefined;
    return JSON.stringify({
      kty: 'oct',
      alg: 'HS256',
      k: Buffer.from(trimmed, 'base64').toString('base64url'),
    });
  }

  #checkBase64(name: string, value: string): void {
    if (!/^(?:true|false|on|off|0|1)$/i.test(value)) return this.#warn(name, 'expected true or false');
    const hasSecret = this.#settings.some((setting) => setting.name === `${PREFIX}jwt_secret`);
    if (!hasSecret) this.#warn(name, 'it says nothing without "pgrst.jwt_secret"');
  }

  /** A function of a schema that is not served must not be reachable, whether the file or the database names it. */
  #withServedRoot(config: DbrestConfig): DbrestConfig {
    if (isServed(config.root, config)) return config;
    const name = 'root' in this.#values ? `${PREFIX}db_root_spec` : `${PREFIX}db_schemas`;
    const ofFile = isServed(this.#file.root, config) ? this.#file.root : undefined;
    const { root = [], ...others } = config;
    this.#findings.push({
      level: 'warn',
      name,
      message: `leaves the function of the root in schema "${root[0]}", which is not served: it is not called`,
    });
    return ofFile ? { ...others, root: ofFile } : others;
  }

  #warnWithoutAuth({ anonRole, jwtKeys }: DbrestConfig): void {
    if (anonRole !== undefined || jwtKeys) return;
    const message =
      'and "pgrst.db_anon_role" are not set, here or in the file: every request runs as the role that gw logs in with';
    this.#findings.push({ level: 'warn', name: `${PREFIX}jwt_secret`, message });
  }

  #warn(name: string, why: string): void {
    this.#findings.push({ level: 'warn', name, message: `is ignored: ${why}` });
  }
}

function isServed(root: DbrestConfig['root'], { schemas }: DbrestConfig): boolean {
  const [schema] = root && root.length > 1 ? root : [];
  return schema === undefined || schemas.includes(schema);
}

/** Keys that a token cannot be verified with are refused as a whole, as in a file. */
function faultOfKeys({ field, value }: Exclude<ReadValue, { fault: string }>): string | undefined {
  if (field !== 'jwtKeys') return undefined;
  const keys = value as NonNullable<DbrestConfig['jwtKeys']>;
  if (keys.kind === 'url') return 'keys are fetched from a URL that the file names only';
  try {
    openSecret(keys);
    return undefined;
  } catch {
    return 'a key cannot be loaded';
  }
}

function unknownName(short: string): string {
  const near = nearest(short, [...COUNTERPARTS.keys(), IS_BASE64]);
  return near === undefined ? 'unknown setting' : `unknown setting, did you mean "${PREFIX}${near}"?`;
}

/** A directive that means the same as a setting of PostgREST. */
interface Counterpart {
  readonly directive: string;
  /** The words of the directive; `undefined`: the setting does not accept the value. */
  readonly words: (value: string) => readonly string[] | undefined;
  /** A description of the values that are allowed. */
  readonly expected?: string;
}

const same = (value: string): readonly string[] => [value];

function flag(value: string): readonly string[] | undefined {
  if (/^(?:true|on|1)$/i.test(value)) return ['on'];
  return /^(?:false|off|0)$/i.test(value) ? ['off'] : undefined;
}

/** PostgREST knows no quotes in lists of names: they are part of the name. */
function names(value: string): readonly string[] {
  const quoted = value
    .split(',')
    .map((name) => name.trim())
    .map((name) => (name.includes('"') ? `"${name.replaceAll('"', '""')}"` : name));
  return [quoted.join(', ')];
}

const flagOf = (directive: string): Counterpart => ({ directive, words: flag, expected: 'true or false' });

/** By name, without the prefix `pgrst.`. */
const COUNTERPARTS: ReadonlyMap<string, Counterpart> = new Map<string, Counterpart>([
  ['client_error_verbosity', { directive: 'dbrest_error_verbosity', words: same }],
  ['db_aggregates_enabled', flagOf('dbrest_aggregates')],
  ['db_anon_role', { directive: 'dbrest_anon_role', words: same }],
  ['db_extra_search_path', { directive: 'dbrest_extra_search_path', words: names }],
  ['db_max_rows', { directive: 'dbrest_max_rows', words: same }],
  ['db_plan_enabled', flagOf('dbrest_plan')],
  ['db_pre_request', { directive: 'dbrest_pre_request', words: same }],
  ['db_root_spec', { directive: 'dbrest_root', words: same }],
  ['db_schemas', { directive: 'dbrest_schemas', words: names }],
  ['db_tx_end', { directive: 'dbrest_tx_end', words: same }],
  [
    'jwt_aud',
    {
      directive: 'dbrest_jwt_audience',
      words: (value) => (value === '' ? undefined : [value]),
      expected: 'an audience',
    },
  ],
  ['jwt_role_claim_key', { directive: 'dbrest_jwt_role_claim', words: same }],
  ['jwt_secret', { directive: 'dbrest_jwt_secret', words: same }],
  ['openapi_mode', { directive: 'dbrest_openapi', words: (value) => [value === 'disabled' ? 'off' : value] }],
  ['openapi_server_proxy_uri', { directive: 'dbrest_openapi_server', words: same }],
  [
    'server_cors_allowed_origins',
    { directive: 'dbrest_cors_origins', words: (value) => value.split(',').map((origin) => origin.trim()) },
  ],
  ['server_timing_enabled', flagOf('dbrest_server_timing')],
  ['server_trace_header', { directive: 'dbrest_trace_header', words: same }],
  ['url_use_legacy_target_names', flagOf('dbrest_legacy_target_names')],
]);

const AT_START = 'it cannot change while the gateway runs';
const NO_COUNTERPART = 'gw has nothing that it would change';

/** Settings of PostgREST that have no effect here, and why. */
const WITHOUT_EFFECT: ReadonlyMap<string, string> = new Map([
  ...`admin_server_host admin_server_port db_channel db_channel_enabled db_config db_pool db_pool_acquisition_timeout
    db_pool_max_idletime db_pool_max_lifetime db_uri log_level server_host server_port server_unix_socket
    server_unix_socket_mode`
    .split(/\s+/)
    .map((name) => [name, AT_START] as const),
  ...`db_hoisted_tx_settings db_pool_automatic_recovery db_prepared_statements db_timezone_enabled db_use_legacy_gucs
    jwt_cache_max_entries jwt_cache_max_lifetime jwt_cache_max_size log_query openapi_security_active raw_media_types`
    .split(/\s+/)
    .map((name) => [name, NO_COUNTERPART] as const),
  ['db_pre_config', 'settings come from "alter role" alone'],
]);

/** The field of a directive with its value, or why the words are not accepted. */
type ReadValue = { readonly field: keyof DbrestConfig; readonly value: unknown } | { readonly fault: string };

const ROWS: Rows<DbrestConfig> = directives;

/**
 * Reads words as the directive does in a file, and refuses the same. `name` is the subject of the fault. The fault of a
 * secret quotes no part of it.
 */
function readValue(directive: string, words: readonly string[], name: string): ReadValue {
  const row = ROWS[directive];
  if (!row || !('args' in row) || row.into === undefined) throw new Error(`no directive "${directive}"`);
  const isSecret = row.secret !== undefined;
  const args: ArgReader<unknown> = row.args;
  const { scope, report } = readScope(name);
  const value =
    words.length < args.min || words.length > args.max
      ? undefined
      : args.read(
          words.map((word) => wordOf(word, scope)),
          scope,
        );
  if (value !== undefined && !report.failed) return { field: row.into, value };
  const [fault] = report.faults;
  const hint = isSecret || typeof fault?.hint !== 'string' ? '' : `, ${fault.hint}`;
  return { fault: `${withoutName(fault?.message ?? `expected ${args.syntax}`, name)}${hint}` };
}

/** The scope for the readers of those directives, which read neither files nor variables. */
function readScope(name: string): { readonly scope: ReadScope; readonly report: Report } {
  const report = new Report();
  const refuse = (): never => {
    throw new Error(`"${name}" has neither variables nor files`);
  };
  const source = { name, text: '' };
  const scope: ReadScope = {
    directive: name,
    span: { source, start: 0, end: 0 },
    report,
    confDir: '/',
    prefix: '/',
    complexValue: refuse,
    nth: 0,
    block: { context: 'location', args: undefined },
    defineVariable: refuse,
  };
  return { scope, report };
}

/** A word from the database is treated as one that must not be printed. */
function wordOf(value: string, { span }: ReadScope): Word {
  return { value, quote: '"', span, secret: true, literals: [[0, value.length]] };
}

/** The readers name the directive in several ways; the message about a setting begins with its name. */
function withoutName(message: string, name: string): string {
  return message
    .replace(` in "${name}" directive`, '')
    .replace(`"${name}" directive `, '')
    .replace(`"${name}" `, '');
}
