import { AT, defines, directivesFor } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import { compileGeo } from './compile-geo.ts';
import type { GeosConfig } from './config.ts';
import { readGeo } from './read-geo.ts';

const directives = directivesFor<GeosConfig>()({
  geo: {
    contexts: ['http'],
    words: { min: 1, max: 2 },
    data: (node, scope) => {
      const geo = readGeo(node, scope);
      return geo && [geo];
    },
    into: 'geos',
    merge: (before, added) => [...before, ...added],
    syntax: '[$address] $variable { ... }',
    summary: "A variable whose value depends on the client's address.",
    roles: defines('variable', AT.lastVariable),
    source: 'nginx ngx_http_geo_module#geo',
  },
});

/** Variables by the client's address (nginx ngx_http_geo_module). */
export const geo = moduleFor<GeosConfig>()({
  name: 'geo',
  directives,
  enabled: ({ geos }) => geos !== undefined,
  defines: ({ geos = [] }) =>
    Object.fromEntries(
      geos.map((each) => [
        each.variable,
        {
          summary: 'The value that `geo` gives.',
          volatile: each.isVolatile,
          compile: (build) => compileGeo(each, build),
        },
      ]),
    ),
  compile: () => ({}),
});
