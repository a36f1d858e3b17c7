import { fnv1a } from '../../zone/index.ts';
import type { DictionaryValue } from '../../zone/index.ts';

/** A feature flag as a dictionary holds it. */
export interface Flag {
  readonly enabled: boolean;
  /** 0 to 100. */
  readonly rolloutPct: number;
}

export const MAX_PERCENT = 100;
export const MAX_NAME_BYTES = 255;

/** A flag as one number, which costs no text to read: the percentage, or its complement (-1 to -101) when off. */
export function encodeFlag({ enabled, rolloutPct }: Flag): number {
  return enabled ? rolloutPct : ~rolloutPct;
}

/** `undefined`: what the dictionary holds is no flag. */
export function decodeFlag(value: DictionaryValue | undefined): Flag | undefined {
  if (typeof value !== 'number' || !Number.isInteger(value)) return undefined;
  const rolloutPct = value < 0 ? ~value : value;
  return rolloutPct > MAX_PERCENT ? undefined : { enabled: value >= 0, rolloutPct };
}

/** True when the flag is on for this key: the same key always falls on the same side of a percentage. */
export function isOnFor(value: DictionaryValue | undefined, key: () => string): boolean {
  if (typeof value !== 'number' || value <= 0) return false;
  return value >= MAX_PERCENT || fnv1a(Buffer.from(key())) % MAX_PERCENT < value;
}
