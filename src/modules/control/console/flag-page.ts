import type { Dictionary } from '../../../zone/index.ts';
import type { ControlConfig } from '../config.ts';
import { ControlFault } from '../fault.ts';
import { readFlagName, readFlagSettings } from '../flag-query.ts';
import { decodeFlag, encodeFlag } from '../flags.ts';
import type { FlagChange, FlagPage } from './contract.ts';

const MAX_FLAGS = 1_000;

/** The flags of the configuration's dictionary, as the console shows and changes them. */
export class FlagTable {
  readonly #config: ControlConfig;
  readonly #dictionary: Dictionary | undefined;

  constructor(config: ControlConfig, dictionaries: ReadonlyMap<string, Dictionary>) {
    this.#config = config;
    this.#dictionary = dictionaries.get(config.flagsZone);
  }

  page(): FlagPage {
    const { flagsZone, flags = [] } = this.#config;
    const entries = this.#dictionary?.list(MAX_FLAGS) ?? [];
    return {
      dictionaries: this.#dictionary ? [flagsZone] : [],
      flags: entries
        .flatMap(({ key, value, ttlMs }) => {
          const flag = decodeFlag(value);
          return flag ? [{ name: key, ...flag, ttlS: Math.ceil(ttlMs / 1000) }] : [];
        })
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      variables: flags.map(({ variable, flag }) => ({ variable, flag })),
    };
  }

  /** Throws a `ControlFault` for what is no change, and the dictionary's own faults. */
  change(body: unknown): FlagPage {
    const dictionary = this.#dictionary;
    if (!dictionary)
      throw new ControlFault(409, `there is no dictionary "${this.#config.flagsZone}" for flags`);
    const change = readChange(body);
    if ('unset' in change) dictionary.delete(change.unset);
    else {
      const { name, ttlS, ...flag } = change.set;
      dictionary.set(name, encodeFlag(flag), ttlS * 1000);
    }
    return this.page();
  }
}

/** The same rules, and the same words for what breaks them, as `flag/set` has. */
function readChange(body: unknown): FlagChange {
  const { set, unset } = (body ?? {}) as { set?: Readonly<Record<string, unknown>>; unset?: unknown };
  if (typeof unset === 'string') return { unset: readFlagName(new Map([['name', unset]])) };
  if (typeof set !== 'object' || set === null) throw new ControlFault(400, 'expected "set" or "unset"');
  const { name, enabled, rolloutPct, ttlS } = set;
  const fields = { name, enabled, rollout_pct: rolloutPct, ttl_s: ttlS };
  const query = Object.entries(fields).flatMap(([field, value]) =>
    value === undefined ? [] : [[field, typeof value === 'string' ? value : JSON.stringify(value)] as const],
  );
  return { set: readFlagSettings(new Map(query)) };
}
