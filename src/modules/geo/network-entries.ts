import type { Report, Word } from '../../../grammar/index.ts';
import { parseNetwork, readers } from '../../config/index.ts';
import type { Network } from '../../config/index.ts';
import type { Entries } from './entries.ts';
import { boundariesOf } from './intervals.ts';
import type { Stretch } from './intervals.ts';
import type { Values } from './values.ts';

/** A network of a `geo` block; what is none is reported. Warns about address bits behind the mask, as nginx does. */
export function readNetwork(word: Word, report: Report): Network | undefined {
  const { value, span } = word;
  const parsed = parseNetwork(value);
  if (!parsed) {
    report.emerg(`invalid network "${value}"`, span, 'expected an address such as 10.0.0.1 or 10.0.0.0/8');
    return undefined;
  }
  readers.warnOfHostBits(word, parsed, report);
  return parsed.network;
}

const EVERYTHING: readonly Network[] = [4, 16].map((length) => ({
  bytes: Array.from({ length }, () => 0),
  bits: 0,
}));

/** Entries by network; the smallest network that an address lies in decides. */
export class NetworkEntries implements Entries {
  readonly #values: Values;
  readonly #report: Report;
  readonly #v4 = new Map<string, Stretch>();
  readonly #v6 = new Map<string, Stretch>();

  constructor(values: Values, report: Report) {
    this.#values = values;
    this.#report = report;
  }

  setDefault(name: Word, value: Word): void {
    for (const network of EVERYTHING) this.#add(network, name, value);
  }

  set(name: Word, value: Word): void {
    const network = readNetwork(name, this.#report);
    if (network) this.#add(network, name, value);
  }

  delete(name: Word): void {
    const network = readNetwork(name, this.#report);
    if (!network || this.#of(network).delete(keyOf(network))) return;
    this.#report.warn(`no network "${name.value}" to delete`, name.span);
  }

  boundaries(): ReturnType<Entries['boundaries']> {
    return { v4: boundariesOf([...this.#v4.values()], 32), v6: boundariesOf([...this.#v6.values()], 128) };
  }

  /** A network that is there already gets the new value. */
  #add(network: Network, name: Word, { value: text }: Word): void {
    const stretches = this.#of(network);
    const key = keyOf(network);
    const old = stretches.get(key);
    stretches.set(key, stretchOf(network, this.#values.indexOf(text)));
    if (!old) return;
    const values = `value: "${text}", old value: "${this.#values.all[old.value]}"`;
    this.#report.warn(`duplicate network "${name.value}", ${values}`, name.span, {
      rule: 'duplicate-directive',
    });
  }

  #of({ bytes }: Network): Map<string, Stretch> {
    return bytes.length === 4 ? this.#v4 : this.#v6;
  }
}

function keyOf({ bytes, bits }: Network): string {
  return `${bytes.join('.')}/${bits}`;
}

function stretchOf({ bytes, bits }: Network, value: number): Stretch {
  const start = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  const size = 1n << BigInt(bytes.length * 8 - bits);
  return { start, end: start + size - 1n, value };
}
