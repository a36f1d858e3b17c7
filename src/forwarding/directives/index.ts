import type { TlsConfig } from '../../client/index.ts';
import type { AnyRow, Rows } from '../../config/index.ts';
import type { ForwardingConfig, ShownHeadersConfig, TryingConfig } from '../config.ts';
import { passingRows, shownHeadersRows } from './passing.ts';
import { storingRows } from './storing.ts';
import { tlsRows } from './tls.ts';
import { tryingRows } from './trying.ts';

export { confCommand, loadedFile, tlsVersions } from './tls-readers.ts';

/** Texts for the reference: defaults that differ in a protocol, by directive name without prefix. */
type Defaults = Readonly<Record<string, string>>;

/** Returns the directives that all protocols share with `proxy_pass`. `prefix` is the name of the module in nginx. */
export function forwardingDirectives(prefix: string, defaults: Defaults = {}): Rows<ForwardingConfig> {
  const rows: Rows<ForwardingConfig> = { ...tryingRows, ...passingRows, ...storingRows };
  return prefixed(prefix, rows, defaults) as Rows<ForwardingConfig>;
}

/** Returns the directives about connections only. */
export function tryingDirectives(prefix: string): Rows<TryingConfig> {
  return prefixed(prefix, tryingRows, {}) as Rows<TryingConfig>;
}

/** Returns the directives about heads of responses only. */
export function shownHeadersDirectives(prefix: string, defaults: Defaults = {}): Rows<ShownHeadersConfig> {
  return prefixed(prefix, shownHeadersRows, defaults) as Rows<ShownHeadersConfig>;
}

/** Returns the directives about TLS. */
export function tlsDirectives(prefix: string, defaults: Defaults = {}): Rows<TlsConfig> {
  return prefixed(prefix, tlsRows, defaults) as Rows<TlsConfig>;
}

const sourceOf = (prefix: string, name: string): string =>
  `nginx ngx_http_${prefix}_module#${prefix}_${name}`;

/** Directives that nginx has for HTTP only. */
const ONLY_PROXY: ReadonlySet<string> = new Set(['cache_convert_head']);

type AnyRows = Readonly<Record<string, AnyRow>>;

function prefixed(prefix: string, rows: AnyRows, defaults: Defaults): AnyRows {
  return Object.fromEntries(
    Object.entries(rows).map(([name, row]) => {
      const isOwn = row.source === 'gw' || (ONLY_PROXY.has(name) && prefix !== 'proxy');
      const source = isOwn ? 'gw' : sourceOf(prefix, name);
      const defaultText = defaults[name];
      return [
        `${prefix}_${name}`,
        { ...row, source, ...(defaultText !== undefined && { defaultText }) } as AnyRow,
      ];
    }),
  );
}
