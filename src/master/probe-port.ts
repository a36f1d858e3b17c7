import { createServer } from 'node:net';
import { constants } from 'node:os';
import type { ListenAddress } from '../contract/index.ts';
import { addressText } from '../plan/index.ts';
import { systemReason } from '../system/index.ts';
import { isOtherFile } from './process-files.ts';

/**
 * Binds an address briefly, and rejects in nginx's words if that fails. Workers share their ports (SO_REUSEPORT), so two
 * gateways on one port would both seem to listen; this bind does not share.
 */
export function probePort(address: ListenAddress): Promise<void> {
  if (address.kind === 'unix') {
    if (!isOtherFile(address.path)) return Promise.resolve();
    return Promise.reject(bindFailure(address, { errno: -constants.errno.EADDRINUSE }));
  }
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) => reject(bindFailure(address, error)));
    // nginx separates the address families: `listen [::]:80` does not conflict with `listen 80`.
    server.listen({ host: address.host, port: address.port, exclusive: true, ipv6Only: true }, () =>
      server.close(() => resolve()),
    );
  });
}

function bindFailure(address: ListenAddress, error: unknown): Error {
  return new Error(`bind() to ${addressText(address)} failed (${systemReason(error)})`);
}
