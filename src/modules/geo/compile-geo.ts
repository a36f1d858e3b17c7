import type { Build } from '../../contract/index.ts';
import type { Getter } from '../../http/index.ts';
import type { GeoConfig } from './config.ts';
import { forwardedAddress } from './forwarded.ts';
import { lookUp } from './lookup.ts';

/** The variable of a `geo` block. */
export function compileGeo(geo: GeoConfig, build: Build): Getter {
  const address = compileAddress(geo, build);
  return (x) => geo.values[lookUp(geo, address(x) ?? '')] ?? '';
}

/** The address that decides: the client's or a variable's, and behind proxies that are believed what they forward. */
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
