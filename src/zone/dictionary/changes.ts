import type { Memory } from '../header.ts';
import { announce } from '../wake-up.ts';
import {
  BIRTH_DOUBLE,
  BLOCK_BYTES,
  CHANGE,
  COUNTER,
  EARLIER,
  FIRST_WAITING_WORD,
  type Geometry,
  LAST_CHANGE_DOUBLE,
  LAST_WAITING_WORD,
  LATER,
  MOST_BYTES_WORD,
  POSITION_DOUBLE,
  STORE_DOUBLE,
  WAKE_WORD,
} from './layout.ts';

/**
 * The entries of a shared dictionary that were changed on this gateway and wait for the store, in the order of their
 * last changes. Every method must be called under the zone's lock.
 */
export class Changes {
  readonly #u32: Uint32Array;
  readonly #i32: Int32Array;
  readonly #f64: Float64Array;
  readonly #firstAt: number;

  constructor({ u32, i32, f64 }: Memory, { blocksAt }: Geometry) {
    this.#u32 = u32;
    this.#i32 = i32;
    this.#f64 = f64;
    this.#firstAt = blocksAt - BLOCK_BYTES;
  }

  /** The number of the store that shares the entries; 0: the dictionary is not shared. */
  get store(): number {
    return this.#f64[STORE_DOUBLE] as number;
  }

  set store(store: number) {
    this.#f64[STORE_DOUBLE] = store;
  }

  get isShared(): boolean {
    return this.store !== 0;
  }

  /** Maximum bytes of key and text while the dictionary is shared. */
  get mostBytes(): number {
    return this.#u32[MOST_BYTES_WORD] as number;
  }

  set mostBytes(bytes: number) {
    this.#u32[MOST_BYTES_WORD] = bytes;
  }

  /** The counter up to which the dictionary has the stream of the store. */
  get position(): number {
    return this.#f64[POSITION_DOUBLE] as number;
  }

  set position(counter: number) {
    this.#f64[POSITION_DOUBLE] = counter;
  }

  /** The birth of the stream that the entries are from; 0: unknown. Needs no lock. */
  get birth(): number {
    return this.#f64[BIRTH_DOUBLE] as number;
  }

  set birth(birth: number) {
    this.#f64[BIRTH_DOUBLE] = birth;
  }

  /** The waiting entry that was changed first; 0 if no entry waits. */
  get first(): number {
    return this.#u32[FIRST_WAITING_WORD] as number;
  }

  later(entry: number): number {
    return this.#get(entry, LATER);
  }

  /** The number of the change of an entry that waits; 0 if the entry does not wait. */
  changeOf(entry: number): number {
    return this.#f64[this.#at(entry, CHANGE) >> 3] as number;
  }

  waits(entry: number): boolean {
    return this.changeOf(entry) > 0;
  }

  /** The counter of the stream that the value comes from or, for a local change, that was seen when it was made. */
  counterOf(entry: number): number {
    return this.#f64[this.#at(entry, COUNTER) >> 3] as number;
  }

  setCounter(entry: number, counter: number): void {
    this.#f64[this.#at(entry, COUNTER) >> 3] = counter;
  }

  /**
   * Prepares an entry for its insertion: as a change, with a number, or with the counter of the state that it comes
   * from. `seen` is the counter of the value that a change replaces.
   */
  stamp(entry: number, counter: number | undefined, seen: number): void {
    if (!this.isShared) return this.#setChange(entry, 0);
    this.setCounter(entry, counter ?? Math.max(this.position, seen));
    this.#setChange(entry, counter === undefined ? this.#next() : 0);
  }

  /** Links a stamped entry into the list of waiting entries, if it waits. */
  link(entry: number): void {
    if (this.waits(entry)) this.#append(entry);
  }

  /** Records that an entry is about to be changed on this gateway. */
  add(entry: number): void {
    this.unlink(entry);
    this.setCounter(entry, Math.max(this.position, this.counterOf(entry)));
    this.#setChange(entry, this.#next());
    this.#append(entry);
  }

  /** Records that an entry no longer waits. */
  settle(entry: number): void {
    this.unlink(entry);
    this.#setChange(entry, 0);
  }

  /** Unlinks an entry from the list of waiting entries, if it waits. */
  unlink(entry: number): void {
    if (!this.waits(entry)) return;
    const [earlier, later] = [this.#get(entry, EARLIER), this.later(entry)];
    if (earlier === 0) this.#u32[FIRST_WAITING_WORD] = later;
    else this.#set(earlier, LATER, later);
    if (later === 0) this.#u32[LAST_WAITING_WORD] = earlier;
    else this.#set(later, EARLIER, earlier);
  }

  #append(entry: number): void {
    const last = this.#u32[LAST_WAITING_WORD] as number;
    this.#set(entry, EARLIER, last);
    this.#set(entry, LATER, 0);
    if (last === 0) this.#u32[FIRST_WAITING_WORD] = entry;
    else this.#set(last, LATER, entry);
    this.#u32[LAST_WAITING_WORD] = entry;
    announce(this.#i32, WAKE_WORD);
  }

  #next(): number {
    const next = (this.#f64[LAST_CHANGE_DOUBLE] as number) + 1;
    this.#f64[LAST_CHANGE_DOUBLE] = next;
    return next;
  }

  #at(entry: number, field: number): number {
    return this.#firstAt + entry * BLOCK_BYTES + field;
  }

  #get(entry: number, field: number): number {
    return this.#u32[this.#at(entry, field) >> 2] as number;
  }

  #set(entry: number, field: number, value: number): void {
    this.#u32[this.#at(entry, field) >> 2] = value;
  }

  #setChange(entry: number, change: number): void {
    this.#f64[this.#at(entry, CHANGE) >> 3] = change;
  }
}
