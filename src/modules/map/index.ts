import { AT, type ComplexValue, constantText, defines, directivesFor } from '../../config/index.ts';
import { type Build, moduleFor } from '../../contract/index.ts';
import type { Exchange, Getter } from '../../http/index.ts';
import { type KeyTable, lowerCase, type MapConfig, type MapsConfig, readMap } from './read-map.ts';

/** The lookup tables of one map, which all locations of a worker share. */
class MapTables {
  /** The text of each value without variables. */
  readonly texts: readonly (string | undefined)[];
  /** The indices of the values with variables. */
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

  /** Returns the index of the value for a string, by exact text, the longest `*.x` or the longest `x.*`. */
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

/** Compiles the variable of a map. */
function compileMap(map: MapConfig, tables: MapTables, build: Build): Getter {
  const source = build.value(map.source);
  const find = compileFind(map, tables, build);
  const rendered = new Map(
    tables.dynamic.map((index) => [index, build.value(map.values[index] as ComplexValue)]),
  );
  return (x) => {
    const value = find(source(x), x) ?? map.fallback;
    if (value === undefined) return '';
    return tables.texts[value] ?? rendered.get(value)?.(x);
  };
}

type Find = (text: string, x: Exchange) => number | undefined;

/**
 * Compiles the search: strings first, then regular expressions in file order, which are not applied to the empty string
 * (nginx).
 */
function compileFind({ hostnames, regexes }: MapConfig, tables: MapTables, build: Build): Find {
  const matchers = regexes.map(({ regex, value }) => ({ matches: build.matcher(regex), value }));
  return (given, x) => {
    const text = hostnames && given.endsWith('.') ? given.slice(0, -1) : given;
    const found = tables.find(text);
    if (found !== undefined || text === '') return found;
    for (const { matches, value } of matchers) if (matches(x, text)) return value;
    return undefined;
  };
}

const directives = directivesFor<MapsConfig>()({
  map: {
    contexts: ['http'],
    words: { min: 2, max: 2 },
    data: (node, scope) => {
      const map = readMap(node, scope);
      return map && [map];
    },
    into: 'maps',
    merge: (before, added) => [...before, ...added],
    syntax: 'string $variable { ... }',
    summary: 'A variable whose value depends on other variables.',
    roles: defines('variable', AT.secondVariable),
    source: 'nginx ngx_http_map_module#map',
  },
});

/** Variables that are looked up in tables (nginx ngx_http_map_module). */
export const map = moduleFor<MapsConfig>()({
  name: 'map',
  summary: 'Variables that depend on other variables.',
  directives,
  enabled: ({ maps }) => maps !== undefined,
  provision: ({ maps = [] }) => maps.map((each) => new MapTables(each)),
  defines: ({ maps = [] }, tables) =>
    Object.fromEntries(
      maps.map((each, index) => [
        each.variable,
        {
          summary: 'The value that `map` gives.',
          volatile: each.isVolatile,
          compile: (build) => compileMap(each, tables[index] as MapTables, build),
        },
      ]),
    ),
  compile: () => ({}),
  rules: () => import('./rules.ts'),
});
