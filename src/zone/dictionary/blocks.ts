import type { Memory } from '../header.ts';
import {
  BLOCK_BYTES,
  blocksFor,
  FREE_COUNT_WORD,
  FREE_WORD,
  FURTHER_PAYLOAD,
  type Geometry,
  NEXT,
} from './layout.ts';

/** Chains of blocks, each with a payload. */
export class Blocks {
  readonly #memory: Memory;
  readonly #firstAt: number;
  readonly #geometry: Geometry;
  readonly #firstPayload: number;

  constructor(memory: Memory, geometry: Geometry) {
    this.#memory = memory;
    this.#geometry = geometry;
    this.#firstAt = geometry.blocksAt - BLOCK_BYTES;
    this.#firstPayload = geometry.firstPayload;
  }

  /** Returns the offset in bytes of a field of a block. */
  at(block: number, field: number): number {
    return this.#firstAt + block * BLOCK_BYTES + field;
  }

  /**
   * Takes free blocks, of which there must be enough, and writes a payload. Returns the first block, which is not
   * marked yet.
   */
  write(payload: Uint8Array, length: number): number {
    const { u32, bytes } = this.#memory;
    const first = u32[FREE_WORD] as number;
    let block = first;
    for (let done = 0, start = this.#firstPayload; ; start = FURTHER_PAYLOAD) {
      const part = Math.min(length - done, BLOCK_BYTES - start);
      const to = this.at(block, start);
      // For so few bytes, a loop is faster than `set`.
      for (let i = 0; i < part; i++) bytes[to + i] = payload[done + i] as number;
      done += part;
      const next = this.at(block, NEXT) >> 2;
      if (done === length) {
        u32[FREE_WORD] = u32[next] as number;
        u32[next] = 0;
        break;
      }
      block = u32[next] as number;
    }
    u32[FREE_COUNT_WORD] = (u32[FREE_COUNT_WORD] as number) - blocksFor(length, this.#geometry);
    return first;
  }

  /** Marks the chain as a complete entry. From here on it survives the death of its writer. */
  mark(first: number): void {
    Atomics.store(this.#memory.i32, this.at(first, 0) >> 2, 1);
  }

  /** Frees a chain. */
  free(first: number): void {
    Atomics.store(this.#memory.i32, this.at(first, 0) >> 2, 0);
    this.#release(first);
  }

  /** Frees the blocks of a chain that its first `length` bytes do not need. */
  cut(first: number, length: number): void {
    const { u32 } = this.#memory;
    const count = blocksFor(length, this.#geometry);
    let last = first;
    for (let n = 1; n < count; n++) last = this.#next(last);
    const rest = this.#next(last);
    if (rest === 0) return;
    u32[this.at(last, NEXT) >> 2] = 0;
    this.#release(rest);
  }

  /** Returns whether the payload begins with these bytes. */
  startsWith(first: number, wanted: Uint8Array, length: number): boolean {
    const { bytes, u32 } = this.#memory;
    let done = 0;
    for (let block = first, start = this.#firstPayload; done < length; start = FURTHER_PAYLOAD) {
      const from = this.at(block, start);
      const part = Math.min(length - done, BLOCK_BYTES - start);
      for (let i = 0; i < part; i++) if (bytes[from + i] !== wanted[done + i]) return false;
      done += part;
      block = u32[this.at(block, NEXT) >> 2] as number;
    }
    return true;
  }

  /** Returns a part of the payload as text. */
  text(first: number, offset: number, length: number): string {
    const { bytes } = this.#memory;
    const from = this.at(first, this.#firstPayload) + offset;
    if (this.#firstPayload + offset + length <= BLOCK_BYTES)
      return bytes.toString('utf8', from, from + length);
    return this.#copy(first, offset + length).toString('utf8', offset);
  }

  #release(first: number): void {
    const { u32 } = this.#memory;
    let count = 1;
    let nextAt = this.at(first, NEXT) >> 2;
    for (let next = u32[nextAt] as number; next !== 0; next = u32[nextAt] as number) {
      nextAt = this.at(next, NEXT) >> 2;
      count += 1;
    }
    u32[nextAt] = u32[FREE_WORD] as number;
    u32[FREE_WORD] = first;
    u32[FREE_COUNT_WORD] = (u32[FREE_COUNT_WORD] as number) + count;
  }

  #next(block: number): number {
    return this.#memory.u32[this.at(block, NEXT) >> 2] as number;
  }

  #copy(first: number, length: number): Buffer {
    const { bytes, u32 } = this.#memory;
    const copy = Buffer.allocUnsafe(length);
    let done = 0;
    for (let block = first, start = this.#firstPayload; done < length; start = FURTHER_PAYLOAD) {
      const from = this.at(block, start);
      done += bytes.copy(copy, done, from, from + Math.min(length - done, BLOCK_BYTES - start));
      block = u32[this.at(block, NEXT) >> 2] as number;
    }
    return copy;
  }
}
