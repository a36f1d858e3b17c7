import { constantText } from '../../config/index.ts';
import type { KeyTable, MapConfig } from './config.ts';
import { lowerCase } from './lower-case.ts';

/** One map ready to be searched; what all locations of a worker share. */
export class MapTables {
  /** The text of each value that has no variables. */
  readonly texts: readonly (string | undefined)[];
  /** The indices of the values that have some. */
  readonly dynamic: readonly number[];
  readonly #exact: ReadonlyMap<string, number>;
  readonly #suffixes: ReadonlyMap<string, number>;
  readonly #prefixes: ReadonlyMap<string, number>;
  readonly #hasWildcards: boolean;

  constructor({ values, exact, suffixes, prefixes }: MapConfig) {
    this.texts = values.map(constantText);
    this.dynamic = [...this.texts.keys()].filter((index) => this.texts[index] === undefined);
    this.#exact = mapOf(exact);
    this.#suffixes = mapOf(suffixes);
    this.#prefixes = mapOf(prefixes);
    this.#hasWildcards = suffixes.keys.length + prefixes.keys.length > 0;
  }

  /** Index of the value that a string has, regular expressions aside: exact, the longest `*.x`, the longest `x.*`. */
  find(text: string): number | undefined {
    const key = lowerCase(text);
    const exact = this.#exact.get(key);
    if (exact !== undefined || !this.#hasWildcards) return exact;
    return this.#bySuffix(key) ?? this.#byPrefix(key);
  }

  #bySuffix(key: string): number | undefined {
    if (this.#suffixes.size === 0) return undefined;
    for (let dot = key.indexOf('.'); dot >= 0; dot = key.indexOf('.', dot + 1)) {
      const value = this.#suffixes.get(key.slice(dot + 1));
      if (value !== undefined) return value;
    }
    return undefined;
  }

  #byPrefix(key: string): number | undefined {
    if (this.#prefixes.size === 0) return undefined;
    for (let dot = key.lastIndexOf('.'); dot > 0; dot = key.lastIndexOf('.', dot - 1)) {
      const value = this.#prefixes.get(key.slice(0, dot));
      if (value !== undefined) return value;
    }
    return undefined;
  }
}

function mapOf({ keys, values }: KeyTable): ReadonlyMap<string, number> {
  return new Map(keys.map((key, index) => [key, values[index] as number]));
}
