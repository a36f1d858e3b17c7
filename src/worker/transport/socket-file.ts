import { chmodSync, closeSync, constants, fstatSync, openSync } from 'node:fs';
import type { ListenAddress } from '../../contract/index.ts';

/** Everybody may connect, as to nginx's. */
const MODE = 0o666;
/** open(2): names a file without opening it; Node.js has no constant for it. */
const O_PATH = 0o10000000;

/** To be called when an address is listened on: the file of a Unix socket has the rights that nginx gives it. */
export function admitEverybody(address: ListenAddress): void {
  if (address.kind !== 'unix') return;
  if (process.platform === 'linux') changeMode(address.path);
  else chmodSync(address.path, MODE);
}

/** Root may do this in a directory of somebody who has put a link to another file there meanwhile: no link is followed. */
function changeMode(path: string): void {
  const descriptor = openSync(path, O_PATH | constants.O_NOFOLLOW);
  try {
    if (fstatSync(descriptor).isSocket()) chmodSync(`/proc/self/fd/${descriptor}`, MODE);
  } finally {
    closeSync(descriptor);
  }
}
