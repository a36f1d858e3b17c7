import { constants } from 'node:os';
import type { ListenAddress } from '../contract/index.ts';
import { addressText } from '../plan/index.ts';
import { systemReason } from '../system/index.ts';
import { bindInet } from './bound-sockets.ts';
import { isOtherFile } from './process-files.ts';

/**
 * Binds an address briefly, and rejects in nginx's words if that fails. Workers share their ports (SO_REUSEPORT), so
 * two gateways could appear to listen on one port; this bind does not share. It does not listen either, because a
 * client that connected meanwhile would be reset.
 */
export function probePort(address: ListenAddress): Promise<void> {
  if (address.kind === 'unix') {
    if (!isOtherFile(address.path)) return Promise.resolve();
    return Promise.reject(bindFailure(address, { errno: -constants.errno.EADDRINUSE }));
  }
  const bound = bindInet(address);
  if (typeof bound === 'number') return Promise.reject(bindFailure(address, { errno: bound }));
  return new Promise((resolve) => {
    bound.close(resolve);
  });
}

function bindFailure(address: ListenAddress, error: unknown): Error {
  return new Error(`bind() to ${addressText(address)} failed (${systemReason(error)})`);
}
