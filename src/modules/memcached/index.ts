import { type Build, moduleFor } from '../../contract/index.ts';
import {
  compileAddress,
  compileForwarding,
  explainForwarding,
  type ForwardingConfig,
  type HeadWriter,
  plainForwarding,
  type Protocol,
  type Provisioned,
  provisionForwarding,
  stickyFilter,
  type Target,
  unconnected,
  type Unconnected,
} from '../../forwarding/index.ts';
import { type Handler, KEPT_TYPE } from '../../http/index.ts';
import type { MemcachedConfig, MemcachedPass } from './config.ts';
import { directives, SCHEMES } from './directives.ts';
import { MemcachedReader } from './memcached-reader.ts';

/** Bytes that would end the key or the command, and the one that marks them (nginx NGX_ESCAPE_MEMCACHED). */
// eslint-disable-next-line no-control-regex -- it looks for control bytes
const UNSAFE = /[\0-\x20%]/g;

function escaped(key: string): string {
  return key.replace(UNSAFE, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}

/** Serves ranges of values, as nginx does, although memcached has no ranges. */
function rangesForced(own: MemcachedConfig): MemcachedConfig & ForwardingConfig {
  return { ...plainForwarding(own), forceRanges: true };
}

/** Compiles the memcached protocol. The type of a value follows from the path. */
function compileMemcached(
  { address, key }: MemcachedPass,
  config: ForwardingConfig,
  { provisioned, build }: { readonly provisioned: Provisioned; readonly build: Build },
): Protocol<Target> {
  const location = { config, provisioned, directive: 'memcached_pass', schemes: SCHEMES, defaultPort: 0 };
  return {
    targetOf: compileAddress(address, location, build),
    uriOf: () => '',
    compileHead: () => compileCommand(key, build),
    takesUnknownLength: false,
    range: undefined,
    defaultKey: () => '',
    hiddenHeaders: [],
    rewrites: new Map(),
    passesTrailers: false,
    ownsNotFound: true,
  };
}

function compileCommand(key: MemcachedPass['key'], build: Build): HeadWriter<Target> {
  const keyOf = build.value(key);
  return (x) => {
    const subject = escaped(keyOf(x));
    return { head: `get ${subject}\r\n`, method: x.method, subject };
  };
}

/** Compiles the handler, which refuses all methods but GET and HEAD. */
function onlyReads(handle: Handler, build: Build): Handler {
  const typeOf = build.contentType();
  return (x) => {
    if (x.method !== 'GET' && x.method !== 'HEAD') return x.end(405);
    x.setState(KEPT_TYPE, typeOf(x));
    return handle(x);
  };
}

/** nginx's memcached module: responds with values. */
export const memcached = moduleFor<MemcachedConfig>()<Provisioned>({
  name: 'memcached',
  summary: 'Responds with values of memcached.',
  directives,
  content: 'pass',
  enabled: ({ pass }) => pass !== undefined,
  upstreams: ({ pass }) =>
    pass?.address.kind === 'literal' ? [{ ...pass.address.address, field: 'pass' }] : [],
  provision: (config, worker) =>
    provisionForwarding(config, worker, {
      protocol: `memcached ${config.gzipFlag}`,
      reader: () => new MemcachedReader(config.gzipFlag),
    }),
  compile(own, provisioned, build) {
    if (!own.pass) return {};
    const config = rangesForced(own);
    const protocol = compileMemcached(own.pass, config, { provisioned, build });
    const handle = compileForwarding({ config, provisioned, protocol }, build);
    return { content: onlyReads(handle, build), slashRedirect: true, ...stickyFilter(provisioned) };
  },
  explanation: {
    provision: (_config, scope) => unconnected(scope),
    explain(own, provisioned, build) {
      if (!own.pass) return {};
      const config = rangesForced(own);
      const protocol = compileMemcached(own.pass, config, { provisioned, build });
      const headOf = protocol.compileHead(false);
      const tell = (...[x, asked]: Parameters<HeadWriter<Target>>) => [
        { label: 'command', value: String(headOf(x, asked).head).trimEnd() },
      ];
      const location = {
        config,
        provisioned: provisioned as Unconnected,
        protocol,
        prefix: 'memcached',
        tell,
      };
      return { content: explainForwarding(location, build) };
    },
  },
});
