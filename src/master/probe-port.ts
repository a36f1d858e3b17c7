import { createServer } from 'node:net';
import type { ListenAddress } from '../contract/index.ts';
import { addressText } from '../plan/index.ts';

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: '98: Address already in use',
  EACCES: '13: Permission denied',
  EADDRNOTAVAIL: '99: Cannot assign requested address',
};

/**
 * Binds an address for a moment. Workers share their ports (SO_REUSEPORT), so two gateways on one port would both seem
 * to listen; this bind does not share and fails in nginx's words.
 */
export function probePort(address: ListenAddress): Promise<void> {
  // A Unix socket is replaced, not shared; its path may be left over from a process that was killed.
  if (address.kind === 'unix') return Promise.resolve();
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', ({ code = '' }: NodeJS.ErrnoException) => {
      reject(new Error(`bind() to ${addressText(address)} failed (${REASONS[code] ?? code})`));
    });
    // nginx keeps the families apart: `listen [::]:80` beside `listen 80` is no conflict.
    server.listen({ host: address.host, port: address.port, exclusive: true, ipv6Only: true }, () =>
      server.close(() => resolve()),
    );
  });
}
