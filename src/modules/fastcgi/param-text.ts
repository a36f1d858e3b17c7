/** Lengths from here on take four bytes, of which the first bit is set (FastCGI specification, 3.4). */
const LONG = 128;

const NOT_ASCII = /[^\0-\x7f]/;

/** Encodes one parameter; a character is a byte. Joining strings is faster than filling buffers. */
export function paramText(name: string, value: string): string {
  const bytes = NOT_ASCII.test(value) ? Buffer.from(value).toString('latin1') : value;
  return lengthText(name.length) + lengthText(bytes.length) + name + bytes;
}

function lengthText(length: number): string {
  if (length < LONG) return String.fromCharCode(length);
  return String.fromCharCode(
    LONG + (length >>> 24),
    (length >>> 16) & 255,
    (length >>> 8) & 255,
    length & 255,
  );
}
