import type { Memory } from '../header.ts';
import {
  BLOCK_BYTES,
  blocksFor,
  FIRST_PAYLOAD,
  FREE_COUNT_WORD,
  FREE_WORD,
  FURTHER_PAYLOAD,
  type Geometry,
  NEXT,
} from './kind.ts';

/** Chains of blocks, each with a payload. */
export class Blocks {
  readonly #memory: Memory;
  readonly #firstAt: number;

  constructor(memory: Memory, { blocksAt }: Geometry) {
    this.#memory = memory;
    this.#firstAt = blocksAt - BLOCK_BYTES;
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
    for (let done = 0, start = FIRST_PAYLOAD; ; start = FURTHER_PAYLOAD) {
      const part = Math.min(length - done, BLOCK_BYTES - start);
      const to = this.at(block, start);
      // For so few bytes a loop is faster than `set`.
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
    u32[FREE_COUNT_WORD] = (u32[FREE_COUNT_WORD] as number) - blocksFor(length);
    return first;
  }

  /** Marks the chain as a complete entry. From here on it survives the death of its writer. */
  mark(first: number): void {
    Atomics.store(this.#memory.i32, this.at(first, 0) >> 2, 1);
  }

  /** Frees a chain whose payload has `length` bytes. */
  free(first: number, length: number): void {
    const { i32, u32 } = this.#memory;
    Atomics.store(i32, this.at(first, 0) >> 2, 0);
    const count = blocksFor(length);
    let last = first;
    for (let n = 1; n < count; n++) last = u32[this.at(last, NEXT) >> 2] as number;
    u32[this.at(last, NEXT) >> 2] = u32[FREE_WORD] as number;
    u32[FREE_WORD] = first;
    u32[FREE_COUNT_WORD] = (u32[FREE_COUNT_WORD] as number) + count;
  }

  /** Tells whether the payload begins with these bytes. */
  startsWith(first: number, wanted: Uint8Array, length: number): boolean {
    const { bytes, u32 } = this.#memory;
    let done = 0;
    for (let block = first, start = FIRST_PAYLOAD; done < length; start = FURTHER_PAYLOAD) {
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
    const from = this.at(first, FIRST_PAYLOAD) + offset;
    if (FIRST_PAYLOAD + offset + length <= BLOCK_BYTES) return bytes.toString('utf8', from, from + length);
    return this.#copy(first, offset + length).toString('utf8', offset);
  }

  #copy(first: number, length: number): Buffer {
    const { bytes, u32 } = this.#memory;
    const copy = Buffer.allocUnsafe(length);
    let done = 0;
    for (let block = first, start = FIRST_PAYLOAD; done < length; start = FURTHER_PAYLOAD) {
      const from = this.at(block, start);
      done += bytes.copy(copy, done, from, from + Math.min(length - done, BLOCK_BYTES - start));
      block = u32[this.at(block, NEXT) >> 2] as number;
    }
    return copy;
  }
}
