import type { LocationFacts } from '../../../contract/index.ts';
import type { DbrestConfig } from '../config.ts';
import { invalidPath } from '../fault/index.ts';

/** What a path names. */
export interface Resource {
  readonly kind: 'root' | 'table' | 'function';
  /** '' of the root. */
  readonly name: string;
}

const ROOT: Resource = { kind: 'root', name: '' };

/**
 * What a path names: below a prefix location one segment, or two of which the first is `rpc`; in any other location the
 * last segment. A location for functions has nothing else. Throws PGRST125.
 */
export function resourceResolver(
  { kind, path }: LocationFacts,
  rpc: DbrestConfig['rpc'],
): (uri: string) => Resource {
  const only = functionPath({ path }, rpc) === '/' ? 'function' : undefined;
  const restOf =
    kind === 'prefix'
      ? (uri: string) => uri.slice(path.length).replace(/^\//, '')
      : (uri: string) => uri.slice(uri.lastIndexOf('/') + 1);
  return (uri) => {
    const rest = restOf(uri);
    if (rest === '') return ROOT;
    if (!rest.includes('/')) return { kind: only ?? 'table', name: rest };
    const [, called] = rpc === 'off' || only ? [] : (/^rpc\/([^/]+)$/.exec(rest) ?? []);
    if (called === undefined) throw invalidPath();
    return { kind: 'function', name: called };
  };
}

/** What stands between a location and the name of a function: `/` where it serves nothing else; absent: it has none. */
export function functionPath(
  { path }: Pick<LocationFacts, 'path'>,
  rpc: DbrestConfig['rpc'],
): '/rpc/' | '/' | undefined {
  if (rpc === 'on' || (rpc === 'auto' && /\/rpc\/?$/.test(path))) return '/';
  return rpc === 'off' ? undefined : '/rpc/';
}
