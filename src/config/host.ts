import { isIP } from 'node:net';

/** The host in `host`, `host:port`, `[::1]:port` or `unix:/path`, without port and brackets. */
export function hostOf(address: string): string {
  if (address.startsWith('unix:')) return address;
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:/]*))/.exec(address) ?? [];
  return bracketed ?? plain ?? '';
}

/** True for a host that must be resolved. */
export function isName(host: string): boolean {
  return host !== '' && !host.startsWith('unix:') && isIP(host.replace(/^\[|\]$/g, '')) === 0;
}

/** True for a loopback address, `localhost` or a Unix socket. */
export function isLocal(host: string): boolean {
  return /^(?:127\.|\[?::1\]?$|unix:|(?:.*\.)?localhost$)/i.test(host);
}
