import { addressBytes, contains } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import type { CachePurgeConfig } from './directives.ts';

/** nginz's message: the address of the client is not in `cache_purge_allowlist`. */
export const NOT_ALLOWED = 'not authorized';

/** Compiles `cache_purge_authorize`: tells whether a client may remove stored responses. */
export function compileAllowlist(
  { authorize, allowlist = [] }: CachePurgeConfig,
  build: Build,
): (x: Exchange) => boolean {
  if (authorize === 'off') return () => true;
  build.needPeer();
  return (x) => {
    // A client of a Unix socket has no address.
    const bytes = addressBytes(x.remoteAddress);
    return bytes !== undefined && allowlist.some((network) => contains(network, bytes));
  };
}
