import { setImmediate } from 'node:timers/promises';
import type { Exchange } from '../../http/index.ts';
import type { Dictionary, DictionaryEntry, DictionaryPart } from '../../zone/index.ts';
import type { Endpoint, Surface } from './endpoint.ts';
import { sendOk } from './envelope.ts';
import type { Fields } from './envelope.ts';
import { ControlFault } from './fault.ts';
import { readFlagSettings, readFlagName } from './flag-query.ts';
import { decodeFlag, encodeFlag } from './flags.ts';
import type { Flag } from './flags.ts';
import { readQuery } from './query.ts';
import type { Query } from './query.ts';

const MAX_LISTED = 10_000;

/** `/runtime/flag`: one flag. */
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

/** `/runtime/flags`: all flags, by name. */
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
      // Other requests have their turn between the parts.
      if (cursor !== undefined) await setImmediate();
    }
    flags.sort((a, b) => ((a['name'] as string) < (b['name'] as string) ? -1 : 1));
    x.send(200, 'application/json', JSON.stringify(flags));
  },
});

type FlagEndpoint = Omit<Endpoint, 'compile' | 'needsFlags'> & {
  act(x: Exchange, query: Query, dictionary: Dictionary): void | Promise<void>;
};

/** An endpoint on the location's dictionary of flags, or on the one that `dict=` names. */
function withFlags({ act, ...facts }: FlagEndpoint): Endpoint {
  const compile = ({ config, resources }: Surface) => {
    return (x: Exchange) => {
      const query = readQuery(x.args);
      const name = query.get('dict') || config.flagsZone;
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
