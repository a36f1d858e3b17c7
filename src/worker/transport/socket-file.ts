import type { ListenAddress } from '../../contract/index.ts';
import { chmodSocket } from '../../log/index.ts';

/** Everybody may connect, as to nginx's. */
const MODE = 0o666;

/** To be called when an address is listened on: the file of a Unix socket has the rights that nginx gives it. */
export function admitEverybody(address: ListenAddress): void {
  if (address.kind === 'unix') chmodSocket(address.path, MODE);
}
