/**
 * A redirect target with everything percent-encoded that is not printable ASCII: blanks, control bytes, UTF-8.
 * nginx sends `$uri` decoded, which lets `%0d%0a` split the response; here it cannot.
 */
export function encodeLocation(target: string): string {
  return UNSAFE.test(target) ? target.replace(UNSAFE_RUNS, percentEncode) : target;
}

const UNSAFE = /[^\x21-\x7e]/;
const UNSAFE_RUNS = /[^\x21-\x7e]+/g;

function percentEncode(text: string): string {
  return Buffer.from(text, 'utf8').reduce(
    (out, byte) => `${out}%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
    '',
  );
}
