const FIRST_BYTES = 16_384;
/** A buffer that has become larger is not kept for the next batch. */
const MOST_KEPT_BYTES = 1_048_576;
/** A UTF-16 unit takes three bytes at most. */
const MOST_BYTES_PER_UNIT = 3;

/** Encoded records, one after the other: the content of one request to the collector. */
export class RecordBatch {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #length = 0;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  get length(): number {
    return this.#length;
  }

  /** The buffer that `add` has made room in. Another call may replace it. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Adds a record of so many bytes. Returns where it begins in `bytes`: the caller writes all of it. */
  add(recordBytes: number): number {
    const begin = this.#length;
    this.#reserve(recordBytes);
    this.#length += recordBytes;
    this.#count++;
    return begin;
  }

  append(record: Uint8Array): void {
    // The buffer may change, so `add` comes first.
    const begin = this.add(record.length);
    this.#bytes.set(record, begin);
  }

  appendText(text: string): void {
    this.#reserve(text.length * MOST_BYTES_PER_UNIT);
    this.#length += this.#bytes.write(text, this.#length);
    this.#count++;
  }

  /** All records; valid until the next one is added. */
  get content(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = this.#count = 0;
    if (this.#bytes.length > MOST_KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  }

  #reserve(moreBytes: number): void {
    const needed = this.#length + moreBytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.content);
    this.#bytes = larger;
  }
}
