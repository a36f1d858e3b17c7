import { setImmediate } from 'node:timers/promises';
import type { Build, VariableDefinition } from '../../contract/index.ts';
import type { Exchange, Getter } from '../../http/index.ts';
import {
  type Dictionary,
  type DictionaryEntry,
  DictionaryFault,
  type DictionaryPart,
  type DictionaryValue,
  fnv1a,
} from '../../zone/index.ts';
import {
  ControlFault,
  type Endpoint,
  type Fields,
  type Query,
  readQuery,
  required,
  sendOk,
  type Surface,
} from './endpoint.ts';
import type { ControlConfig, ControlResources, FlagVariable } from './resources.ts';

/** A feature flag as it is kept in a dictionary. */
interface Flag {
  readonly enabled: boolean;
  /** 0 to 100. */
  readonly rolloutPct: number;
}

const MAX_PERCENT = 100;
export const MAX_NAME_BYTES = 255;

/**
 * Encodes a flag as one number, which is cheaper to read than text: the percentage, or its complement (-1 to -101) if
 * the flag is off.
 */
export function encodeFlag({ enabled, rolloutPct }: Flag): number {
  return enabled ? rolloutPct : ~rolloutPct;
}

/** Decodes a flag; `undefined` if the entry is not a flag. */
export function decodeFlag(value: DictionaryValue | undefined): Flag | undefined {
  if (typeof value !== 'number' || !Number.isInteger(value)) return undefined;
  const rolloutPct = value < 0 ? ~value : value;
  return rolloutPct > MAX_PERCENT ? undefined : { enabled: value >= 0, rolloutPct };
}

/** Tells whether the flag is on for a key. The same key is always on the same side of a percentage. */
function isOnFor(value: DictionaryValue | undefined, key: () => string): boolean {
  if (typeof value !== 'number' || value <= 0) return false;
  return value >= MAX_PERCENT || fnv1a(Buffer.from(key())) % MAX_PERCENT < value;
}

const DEFAULT_TTL_S = 3600;
const MAX_TTL_S = 2 ** 31 - 1;

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['1', true],
  ['true', true],
  ['on', true],
  ['0', false],
  ['false', false],
  ['off', false],
]);

/** The parameters of `flag/set`. */
interface FlagSettings extends Flag {
  readonly name: string;
  /** 0: no expiry. */
  readonly ttlS: number;
}

/** Reads the name of a flag. Like the other readers here it throws a `ControlFault` (400) that names the parameter. */
export function readFlagName(query: Query): string {
  const name = required(query, 'name');
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) throw invalid('name', `exceeds ${MAX_NAME_BYTES} bytes`);
  return name;
}

export function readFlagSettings(query: Query): FlagSettings {
  return {
    name: readFlagName(query),
    enabled: readEnabled(query),
    rolloutPct: readInteger(query, ['rollout_pct', 'pct'], { fallback: 100, max: MAX_PERCENT }),
    ttlS: readInteger(query, ['ttl_s', 'ttl'], { fallback: DEFAULT_TTL_S, max: MAX_TTL_S }),
  };
}

function readEnabled(query: Query): boolean {
  const text = query.get('enabled') || 'true';
  const enabled = BOOLEANS.get(text);
  if (enabled === undefined) throw invalid('enabled', 'must be 1, 0, true, false, on or off');
  return enabled;
}

/** Reads the first of several synonymous parameters that has a value. */
function readInteger(
  query: Query,
  names: readonly string[],
  { fallback, max }: { fallback: number; max: number },
): number {
  const name = names.find((synonym) => query.get(synonym));
  if (name === undefined) return fallback;
  const text = query.get(name) as string;
  if (!/^\d{1,10}$/.test(text) || Number(text) > max) {
    throw invalid(name, `must be an integer from 0 to ${max}`);
  }
  return Number(text);
}

function invalid(name: string, predicate: string): ControlFault {
  return new ControlFault(400, `invalid query param: ${name} ${predicate}`);
}

const MAX_LISTED = 10_000;

/** `/runtime/flag`: gives one flag. */
export const flag: Endpoint = withFlags({
  name: 'flag',
  path: 'flag',
  description: 'the state of the feature flag ?name=',
  act(x, query, dictionary) {
    const name = readFlagName(query);
    const entry = dictionary.entry(name);
    const found = decodeFlag(entry?.value);
    if (!entry || !found) throw new ControlFault(200, `flag not found: ${name}`);
    sendOk(x, flagFields(name, found, entry.ttlMs));
  },
});

/** `/runtime/flag/set`: writes a flag. */
export const flagSet: Endpoint = withFlags({
  name: 'flag_set',
  path: 'flag/set',
  description: 'sets the feature flag ?name= to &enabled=, &rollout_pct= and &ttl_s=',
  writes: true,
  act(x, query, dictionary) {
    const { name, ttlS, ...settings } = readFlagSettings(query);
    dictionary.set(name, encodeFlag(settings), ttlS * 1000);
    sendOk(x, { action: 'set', ...flagFields(name, settings, ttlS * 1000) });
  },
});

/** `/runtime/flag/unset`: removes a flag. */
export const flagUnset: Endpoint = withFlags({
  name: 'flag_unset',
  path: 'flag/unset',
  description: 'removes the feature flag ?name=',
  writes: true,
  act(x, query, dictionary) {
    const name = readFlagName(query);
    const isFlag = decodeFlag(dictionary.get(name)) !== undefined;
    if (!isFlag || !dictionary.delete(name)) throw new ControlFault(200, `flag not found: ${name}`);
    sendOk(x, { action: 'unset', name });
  },
});

/** `/runtime/flags`: gives all flags, by name. */
export const flagList: Endpoint = withFlags({
  name: 'flags',
  path: 'flags',
  description: 'all feature flags, a JSON array',
  async act(x, _query, dictionary) {
    const flags: Fields[] = [];
    for (let cursor: number | undefined = 0; cursor !== undefined;) {
      const { entries, next }: DictionaryPart = dictionary.scan(cursor);
      for (const entry of entries) flags.push(...listed(entry));
      if (flags.length > MAX_LISTED) throw new ControlFault(200, `more than ${MAX_LISTED} flags to list`);
      cursor = next;
      // Other requests are served between the parts.
      if (cursor !== undefined) await setImmediate();
    }
    flags.sort((a, b) => ((a['name'] as string) < (b['name'] as string) ? -1 : 1));
    x.send(200, 'application/json', JSON.stringify(flags));
  },
});

type FlagEndpoint = Omit<Endpoint, 'compile' | 'needsFlags'> & {
  act(x: Exchange, query: Query, dictionary: Dictionary): void | Promise<void>;
};

/** Returns the name of the dictionary that a request for flags uses; `undefined` if its arguments are invalid. */
export function dictionaryAsked(args: string, { flagsZone }: ControlConfig): string | undefined {
  try {
    return dictionaryOf(readQuery(args), flagsZone);
  } catch (error) {
    if (!(error instanceof ControlFault)) throw error;
    return undefined;
  }
}

const dictionaryOf = (query: Query, flagsZone: string): string => query.get('dict') || flagsZone;

/** Defines an endpoint for the location's dictionary of flags, or the one that `dict=` names. */
function withFlags({ act, ...facts }: FlagEndpoint): Endpoint {
  const compile = ({ config, resources }: Surface) => {
    return (x: Exchange) => {
      const query = readQuery(x.args);
      const name = dictionaryOf(query, config.flagsZone);
      const dictionary = resources.dictionaries.get(name);
      if (!dictionary) throw new ControlFault(200, `shared dict not found: ${name}`);
      return act(x, query, dictionary);
    };
  };
  return { ...facts, needsFlags: true, compile };
}

function listed({ key, value, ttlMs }: DictionaryEntry): Fields[] {
  const found = decodeFlag(value);
  return found ? [flagFields(key, found, ttlMs)] : [];
}

function flagFields(name: string, { enabled, rolloutPct }: Flag, ttlMs: number): Fields {
  return {
    name,
    enabled: String(enabled),
    rollout_pct: String(rolloutPct),
    ttl_s: String(Math.ceil(ttlMs / 1000)),
  };
}

/** `feature_flag $variable name [key=value]`: the variable is 1 or 0 for the request that reads it. */
export function flagVariables(
  { flags = [], flagsZone }: ControlConfig,
  { dictionaries }: ControlResources,
): Readonly<Record<string, VariableDefinition>> {
  const dictionary = dictionaries.get(flagsZone) as Dictionary;
  return Object.fromEntries(
    flags.map((flag) => [
      flag.variable,
      {
        summary: `The feature flag ${flag.flag}.`,
        live: true,
        compile: (build) => compileFlag(flag, dictionary, build),
      },
    ]),
  );
}

function compileFlag({ flag, key }: FlagVariable, dictionary: Dictionary, build: Build): Getter {
  const readKey = build.value(key);
  return (x) => (isOnFor(read(dictionary, flag, x), () => readKey(x)) ? '1' : '0');
}

/** Reads a flag. If the dictionary cannot be read, the feature is off and the request continues. */
function read(dictionary: Dictionary, flag: string, x: Exchange): ReturnType<Dictionary['get']> {
  try {
    return dictionary.get(flag);
  } catch (error) {
    if (!(error instanceof DictionaryFault)) throw error;
    x.writeLog(`feature flag "${flag}" counts as off: ${error.message}`);
    return undefined;
  }
}
