import type { ListenAddress } from '../contract/index.ts';

/** As messages and maps name an address. */
export function addressText(address: ListenAddress): string {
  if (address.kind === 'unix') return `unix:${address.path}`;
  const { host, port } = address;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
