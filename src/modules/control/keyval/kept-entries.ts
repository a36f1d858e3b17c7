import { isObject } from '../../../json.ts';
import {
  type Dictionary,
  DictionaryFault,
  type DictionaryValue,
  type KeptEntries,
} from '../../../zone/index.ts';

/**
 * The entries of a dictionary as the file of `state` has them: `"key":"value"`, or with a lifetime
 * `"key":{"value":"text","expires":milliseconds since the epoch}`.
 */
export function keptEntries(dictionary: Dictionary): KeptEntries {
  return {
    get revision() {
      return dictionary.revision;
    },
    get isEmpty() {
      return dictionary.facts().entries === 0;
    },
    scan(cursor) {
      const { entries, next } = dictionary.scan(cursor);
      const nowMs = Date.now();
      const kept = entries.map(({ key, value, ttlMs }) => {
        return [key, ttlMs === 0 ? value : { value, expires: Math.ceil(nowMs + ttlMs) }] as const;
      });
      return { entries: kept, next };
    },
    add(key, kept) {
      const { value, expires = 0 } = isObject(kept) ? kept : { value: kept };
      if (!isValue(value) || typeof expires !== 'number' || expires < 0) return 'malformed';
      const ttlMs = expires === 0 ? 0 : expires - Date.now();
      try {
        if (ttlMs >= 0) dictionary.add(key, value, ttlMs);
        return 'done';
      } catch (error) {
        if (!(error instanceof DictionaryFault)) throw error;
        return error.refusal === 'bad key' ? 'malformed' : 'no room';
      }
    },
  };
}

function isValue(value: unknown): value is DictionaryValue {
  return ['string', 'number', 'boolean'].includes(typeof value);
}
