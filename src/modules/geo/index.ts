import { AT, defines, directivesFor } from '../../config/index.ts';
import { type Build, moduleFor } from '../../contract/index.ts';
import { forwardedAddress, type Getter } from '../../http/index.ts';
import { type GeoConfig, type GeosConfig, lookUp } from './lookup.ts';
import { readGeo } from './read-geo.ts';

/** Compiles the variable of a `geo` block. */
function compileGeo(geo: GeoConfig, build: Build): Getter {
  const address = compileAddress(geo, build);
  return (x) => geo.values[lookUp(geo, address(x) ?? '')] ?? '';
}

/** Compiles the address that is looked up: the client's or a variable's, and behind trusted proxies the forwarded one. */
function compileAddress({ address, proxies, proxyRecursive: recursive }: GeoConfig, build: Build): Getter {
  if (!address) build.needPeer();
  const read: Getter = address ? build.optionalValue(address) : (x) => x.remoteAddress;
  if (proxies.length === 0) return read;
  build.needHeader('x-forwarded-for');
  return (x) => {
    const peer = read(x) ?? '';
    const forwarded = x.header('x-forwarded-for');
    return forwarded === undefined ? peer : forwardedAddress(peer, forwarded, { proxies, recursive });
  };
}

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
  summary: 'Variables that depend on the address of the client.',
  directives,
  rules: () => import('./rules.ts'),
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
