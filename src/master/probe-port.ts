import { createServer } from 'node:net';
import type { ListenAddress } from '../contract/index.ts';
import { addressText } from '../plan/index.ts';
import { isOtherFile } from './socket-files.ts';

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
  if (address.kind === 'unix') {
    if (!isOtherFile(address.path)) return Promise.resolve();
    return Promise.reject(bindFailure(address, 'EADDRINUSE'));
  }
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', ({ code = '' }: NodeJS.ErrnoException) => {
      reject(bindFailure(address, code));
    });
    // nginx keeps the families apart: `listen [::]:80` beside `listen 80` is no conflict.
    server.listen({ host: address.host, port: address.port, exclusive: true, ipv6Only: true }, () =>
      server.close(() => resolve()),
    );
  });
}

function bindFailure(address: ListenAddress, code: string): Error {
  return new Error(`bind() to ${addressText(address)} failed (${REASONS[code] ?? code})`);
}
