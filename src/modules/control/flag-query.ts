import { ControlFault } from './fault.ts';
import { MAX_NAME_BYTES, MAX_PERCENT } from './flags.ts';
import type { Flag } from './flags.ts';
import { required } from './query.ts';
import type { Query } from './query.ts';

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

/** What `flag/set` is asked to write. */
export interface FlagSettings extends Flag {
  readonly name: string;
  /** 0: no expiry. */
  readonly ttlS: number;
}

/** Throws a `ControlFault` (400) that names the parameter, as the other readers here. */
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

/** The first of the synonyms that has a value counts. */
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
