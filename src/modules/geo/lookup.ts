import { addressBytes } from '../../config/index.ts';
import type { GeoConfig, Intervals } from './config.ts';
import { ipv4Number } from './ipv4-number.ts';

/** What nginx takes for every address that is none: a client of a Unix socket, a variable without an address. */
const NO_ADDRESS = 0xffff_ffff;

/** Index of the value of an address; -1: none. */
export function lookUp({ v4, v6 }: Pick<GeoConfig, 'v4' | 'v6'>, address: string): number {
  const number = ipv4Number(address);
  if (number !== undefined) return valueAt(v4, number);
  const bytes = address.includes(':') ? addressBytes(address) : undefined;
  if (bytes?.length === 16) return valueAt(v6, Buffer.from(bytes).toString('hex'));
  return valueAt(v4, bytes ? Buffer.from(bytes).readUInt32BE() : NO_ADDRESS);
}

/** The value of the last start that is not behind the key. */
function valueAt<T extends number | string>({ starts, values }: Intervals<T>, key: T): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] as T) <= key) low = middle;
    else high = middle - 1;
  }
  return values[low] as number;
}
