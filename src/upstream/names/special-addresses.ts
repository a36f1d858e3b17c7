import { contains, type Network, parseNetwork } from '../../config/index.ts';

/**
 * Networks in which a client may not choose a host: IANA's registries of special-purpose addresses, multicast and reserved
 * networks. Private networks (10.0.0.0/8, 100.64.0.0/10, 172.16.0.0/12, 192.168.0.0/16, fc00::/7) are not included, since
 * they contain upstreams.
 */
const SPECIAL = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // Includes `::`, `::1` and IPv4-compatible addresses; a mapped one counts as the IPv4 address.
  '::/96',
  // IPv4-translated addresses (RFC 2765), and local NAT64 (RFC 8215), where the IPv4 address has no fixed place.
  '::ffff:0:0:0/96',
  '64:ff9b:1::/48',
  '100::/63',
  // Includes Teredo.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
  '5f00::/16',
  'fe80::/9',
  'ff00::/8',
];

/** Where clouds give out credentials and settings, beside 169.254.169.254: Alibaba, Azure, Amazon, Google, Oracle, Scaleway. */
const OF_CLOUDS = [
  '100.100.100.200',
  '168.63.129.16',
  'fd00:ec2::/32',
  'fd20:ce::/32',
  'fd00:c1::/32',
  'fd00:42::/32',
];

/** The networks as plain data. */
export const SPECIAL_NETWORKS: readonly Network[] = [...SPECIAL, ...OF_CLOUDS].flatMap(
  (text) => parseNetwork(text)?.network ?? [],
);

const NAT64 = parseNetwork('64:ff9b::/96')?.network;

/**
 * Returns the IPv4 address that packets for an IPv6 address finally reach, through a translator (RFC 6052, 2.1) or a tunnel
 * (RFC 5214, 6.1). A NAT64 prefix of the own network cannot be recognised.
 */
export function embeddedAddress(bytes: readonly number[]): readonly number[] | undefined {
  const isTranslated = NAT64 !== undefined && contains(NAT64, bytes);
  return isTranslated || isOfTunnel(bytes) ? bytes.slice(12) : undefined;
}

/** ISATAP: the interface identifier is `0:5efe` or `200:5efe` and an IPv4 address. */
function isOfTunnel([, , , , , , , , first = 1, second, third, fourth]: readonly number[]): boolean {
  return (first & ~0x02) === 0 && second === 0 && third === 0x5e && fourth === 0xfe;
}
