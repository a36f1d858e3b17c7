/** Lengths from here on take four bytes, of which the first bit is set (FastCGI specification, 3.4). */
const LONG = 128;
const LENGTH_BYTES = 8;

/** Collects the parameters of a request as they stand in records. */
export class ParamBytes {
  #bytes: Buffer = Buffer.allocUnsafe(2_048);
  #at = 0;

  add(name: string, value: string): void {
    const nameBytes = Buffer.byteLength(name);
    const valueBytes = Buffer.byteLength(value);
    this.#reserve(LENGTH_BYTES + nameBytes + valueBytes);
    this.#addLength(nameBytes);
    this.#addLength(valueBytes);
    this.#at += this.#bytes.write(name, this.#at);
    this.#at += this.#bytes.write(value, this.#at);
  }

  /** Gives what was collected. */
  take(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  #addLength(length: number): void {
    if (length < LONG) this.#at = this.#bytes.writeUInt8(length, this.#at);
    else this.#at = this.#bytes.writeUInt32BE(length + 2 ** 31, this.#at);
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
