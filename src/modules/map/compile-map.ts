import type { ComplexValue } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import type { Exchange, Getter } from '../../http/index.ts';
import type { MapConfig } from './config.ts';
import type { MapTables } from './tables.ts';

/** The variable of a map: the value that the source has now. */
export function compileMap(map: MapConfig, tables: MapTables, build: Build): Getter {
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

/** Strings first, then the regular expressions in file order; those are never asked about the empty string (nginx). */
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
