const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** True for a host, as URLs have it, that only this machine reaches. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}
