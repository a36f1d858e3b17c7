import { parentPort } from 'node:worker_threads';
import { encrypt } from 'unixcrypt';
import { computeCrypt } from './crypt.ts';

/** What the thread is asked for. */
export interface CryptOrder {
  readonly password: Uint8Array;
  readonly stored: string;
}

// One order at a time: the next one is sent when this one is answered.
parentPort?.on('message', ({ password, stored }: CryptOrder) => {
  parentPort?.postMessage(computeCrypt(Buffer.from(password), stored, encrypt));
});
