import { AT, defines, directivesFor } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import { compileMap } from './compile-map.ts';
import type { MapsConfig } from './config.ts';
import { readMap } from './read-map.ts';
import { MapTables } from './tables.ts';

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
});
