/** All possible bytes, as text with one character per byte. */
export const EVERY_BYTE = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));

/** The bytes of a text with one character per byte. */
export const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

/** The ways to cut bytes into packets: not at all, after each byte, and once at each place. */
export function* cutsOf(text: string): Generator<readonly Buffer[]> {
  const bytes = bytesOf(text);
  yield [bytes];
  yield Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  for (let at = 1; at < bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)];
}
