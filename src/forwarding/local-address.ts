import { isIP } from 'node:net';

/** The address from which connections to an upstream are made (`proxy_bind`). */
export interface LocalAddress {
  readonly localAddress: string;
  readonly localPort?: number;
}

const WITH_PORT = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/;
const MAX_PORT = 65_535;

/** Reads an IP address with or without a port, as nginx's `ngx_parse_addr_port`; `undefined` for any other text. */
export function readLocalAddress(text: string): LocalAddress | undefined {
  if (isIP(text) > 0) return { localAddress: text };
  const [, v6, v4 = '', digits] = WITH_PORT.exec(text) ?? [];
  const localAddress = v6 ?? v4;
  const localPort = Number(digits);
  if (isIP(localAddress) !== (v6 === undefined ? 4 : 6) || localPort > MAX_PORT) return undefined;
  return localPort === 0 ? { localAddress } : { localAddress, localPort };
}
