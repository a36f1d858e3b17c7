import { isIP } from 'node:net';

/** `host`, `host:port`, `[::1]:port` or `unix:/path` without its port and its brackets. */
export function hostOf(address: string): string {
  if (address.startsWith('unix:')) return address;
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:/]*))/.exec(address) ?? [];
  return bracketed ?? plain ?? '';
}

/** True for what has to be looked up. */
export function isName(host: string): boolean {
  return host !== '' && !host.startsWith('unix:') && isIP(host.replace(/^\[|\]$/g, '')) === 0;
}

/** True for this machine alone. */
export function isLocal(host: string): boolean {
  return /^(?:127\.|\[?::1\]?$|unix:|(?:.*\.)?localhost$)/i.test(host);
}
