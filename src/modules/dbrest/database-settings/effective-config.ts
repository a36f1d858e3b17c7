import { nearest } from '../../../config/index.ts';
import { openKeys } from '../auth/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import type { StoredSetting } from '../schema/index.ts';
import { COUNTERPARTS, WITHOUT_EFFECT } from './counterparts.ts';
import { readValue, type ReadValue } from './read-value.ts';

/** What is wrong with a setting, which has no effect then. */
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
/** Says how `jwt_secret` is written, and is nothing by itself. */
const IS_BASE64 = 'jwt_secret_is_base64';

/** Replaces what a file configures by what settings say. A setting that is not accepted leaves the value of the file. */
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

  /** `pgrst.app.settings.name` comes after `app.settings.name`, so it goes before it. */
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
  try {
    openKeys(value as NonNullable<DbrestConfig['jwtKeys']>);
    return undefined;
  } catch {
    return 'a key cannot be loaded';
  }
}

function unknownName(short: string): string {
  const near = nearest(short, [...COUNTERPARTS.keys(), IS_BASE64]);
  return near === undefined ? 'unknown setting' : `unknown setting, did you mean "${PREFIX}${near}"?`;
}
