import { parentPort } from 'node:worker_threads';
import { encrypt } from 'unixcrypt';
import { computeCrypt } from './crypt.ts';

/** A message to the thread. */
export interface CryptOrder {
  readonly password: Uint8Array;
  readonly stored: string;
}

// One order at a time: the next one is sent after the result of this one.
parentPort?.on('message', ({ password, stored }: CryptOrder) => {
  parentPort?.postMessage(computeCrypt(Buffer.from(password), stored, encrypt));
});
