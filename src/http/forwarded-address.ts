import { addressBytes, contains, type Network } from '../config/index.ts';
import { stateKey } from './request.ts';

/** True for a request whose connection comes from a proxy that the configuration trusts (`set_real_ip_from`). */
export const TRUSTED_PEER = stateKey<boolean>('trusted proxy');

/** `1.2.3.4:80`, `[2001:db8::1]` and `[2001:db8::1]:80`. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+):\d+|\[([\da-f:.]+)\](?::\d+)?)$/i;

/** The proxies whose `X-Forwarded-For` is used. */
interface TrustedProxies {
  readonly proxies: readonly Network[];
  readonly recursive: boolean;
}

/**
 * Returns the client's address behind trusted proxies (nginx ngx_http_get_forwarded_addr): the last of
 * `X-Forwarded-For`, or with `recursive` the last that is not a trusted proxy. An invalid address ends the search.
 */
export function forwardedAddress(
  peer: string,
  forwarded: string,
  { proxies, recursive }: TrustedProxies,
): string {
  const hops = forwarded.split(/[ ,]+/).filter((hop) => hop !== '');
  let address = peer;
  for (let hop = hops.pop(); hop !== undefined && isProxy(address, proxies); hop = hops.pop()) {
    const [, ipv4, ipv6] = WITH_PORT.exec(hop) ?? [];
    const next = ipv4 ?? ipv6 ?? hop;
    if (!addressBytes(next)) break;
    address = next;
    if (!recursive) break;
  }
  return address;
}

function isProxy(address: string, proxies: readonly Network[]): boolean {
  const bytes = addressBytes(address);
  return bytes !== undefined && proxies.some((network) => contains(network, bytes));
}
