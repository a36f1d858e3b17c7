import { directivesFor, type Network, pathFrom, readers } from '../../config/index.ts';
import { type Build, moduleFor, type VariableDefinition } from '../../contract/index.ts';
import { forwardedAddress, type Getter } from '../../http/index.ts';
import { GeoipDatabase } from './database.ts';
import { type GeoipBlock, type GeoipVariable, readGeoip2 } from './read-geoip2.ts';

interface GeoipConfig {
  readonly blocks?: readonly GeoipBlock[];
  /** Trusted proxies, whose `X-Forwarded-For` is used. */
  readonly proxies?: readonly Network[];
  readonly proxyRecursive: boolean;
}

const SOURCE = 'ngx_http_geoip2_module';

const directives = directivesFor<GeoipConfig>()({
  geoip2: {
    contexts: ['http'],
    words: { min: 1, max: 1 },
    data: (node, scope) => {
      const read = readGeoip2(node, scope);
      return read && [read];
    },
    into: 'blocks',
    merge: (before, added) => [...before, ...added],
    syntax: 'file { ... }',
    roles: pathFrom('confDir'),
    summary:
      "Variables from a MaxMind database by the client's address: `$name [default=value] [source=$address] path ...`, " +
      '`$name metadata build_epoch`; `auto_reload time` follows changes of the file.',
    source: `${SOURCE}#geoip2`,
  },
  geoip2_proxy: {
    contexts: ['http'],
    args: readers.cidr,
    into: 'proxies',
    repeat: 'append',
    summary: 'Trusted proxies: behind them the address of `X-Forwarded-For` is looked up.',
    source: `${SOURCE}#geoip2_proxy`,
  },
  geoip2_proxy_recursive: {
    contexts: ['http'],
    args: readers.flag,
    into: 'proxyRecursive',
    default: false,
    summary: 'Whether the last address that is no trusted proxy is looked up, instead of the last one.',
    source: `${SOURCE}#geoip2_proxy_recursive`,
  },
});

/** Variables from MaxMind databases (ngx_http_geoip2_module). */
export const geoip2 = moduleFor<GeoipConfig>()<readonly GeoipDatabase[]>({
  name: 'geoip2',
  summary: 'Variables from MaxMind databases, by address.',
  directives,
  enabled: ({ blocks }) => blocks !== undefined,
  provision: ({ blocks = [] }, worker) =>
    blocks.map(({ file, reloadMs }) =>
      worker.share(
        `geoip2: ${file} ${reloadMs}`,
        () => new GeoipDatabase(file, reloadMs, (message) => worker.log.write('notice', message)),
        () => undefined,
      ),
    ),
  defines: ({ blocks = [], ...config }, databases) =>
    Object.fromEntries(
      blocks.flatMap(({ variables }, index) =>
        variables.map((variable) => [
          variable.name,
          definition(variable, { ...config, database: databases[index] as GeoipDatabase }),
        ]),
      ),
    ),
  compile: () => ({}),
});

interface Lookup extends Pick<GeoipConfig, 'proxies' | 'proxyRecursive'> {
  readonly database: GeoipDatabase;
}

function definition(variable: GeoipVariable, lookup: Lookup): VariableDefinition {
  const { isMetadata, path, default: fallback } = variable;
  return {
    summary: 'A value that `geoip2` finds.',
    compile(build) {
      if (isMetadata) return () => lookup.database.metadata(path[0] as string);
      const address = compileAddress(variable, lookup, build);
      return (x) => lookup.database.find(address(x) ?? '', path) ?? fallback;
    },
  };
}

function compileAddress(
  { source }: GeoipVariable,
  { proxies = [], proxyRecursive: recursive }: Lookup,
  build: Build,
): Getter {
  if (source) return build.optionalValue(source);
  build.needPeer();
  if (proxies.length === 0) return (x) => x.remoteAddress;
  build.needHeader('x-forwarded-for');
  return (x) => {
    const forwarded = x.header('x-forwarded-for');
    return forwarded === undefined
      ? x.remoteAddress
      : forwardedAddress(x.remoteAddress, forwarded, { proxies, recursive });
  };
}
