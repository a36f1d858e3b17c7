/** Characters that are escaped: those of JSON, controls that a terminal would interpret, line ends of JavaScript. */
// eslint-disable-next-line no-control-regex -- it looks for control bytes
const UNSAFE = /["\\\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]/;
const EACH_UNSAFE =
  // eslint-disable-next-line no-control-regex -- it looks for control bytes
  /["\\\0-\x1f\x7f-\x9f\u2028\u2029]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The escapes of JSON that have a letter (RFC 8259, 7). */
export const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

const MAX_BYTES_PER_UNIT = 3;
/** A lone surrogate cannot be written in UTF-8. */
const REPLACEMENT = '\ufffd';

/** Returns a text as a string of JSON, with its quotation marks. It stays one line, and has nothing but valid Unicode. */
export function jsonString(text: string): string {
  return UNSAFE.test(text) ? `"${text.replace(EACH_UNSAFE, escaped)}"` : `"${text}"`;
}

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  if (code >= 0xd800 && code <= 0xdfff) return REPLACEMENT;
  return SHORT_ESCAPES[character] ?? `\\u${code.toString(16).padStart(4, '0')}`;
}

const LONE_SURROGATE = /\p{Surrogate}/gu;
// eslint-disable-next-line no-control-regex -- it looks for control bytes
const UNSAFE_IN_JSON = /[\x7f-\x9f\u2028\u2029]/g;

/** Returns a value as JSON on one line; its texts are as safe as those of `jsonString`. */
export function jsonText(value: object): string {
  const text = JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'string' ? member.replace(LONE_SURROGATE, REPLACEMENT) : member,
  );
  return text.replace(UNSAFE_IN_JSON, escaped);
}

/** Returns the longest beginning of a text that takes at most so many bytes of UTF-8; never half a character. */
export function cutText(text: string, maxBytes: number): string {
  if (text.length * MAX_BYTES_PER_UNIT <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  return beginning(text, maxBytes, (character) => character);
}

/** Returns the longest beginning of a text whose `jsonString` takes at most so many bytes, quotation marks included. */
export function cutForJson(text: string, maxBytes: number): string {
  return beginning(text, maxBytes - 2, (character) => jsonString(character).slice(1, -1));
}

function beginning(text: string, maxBytes: number, written: (character: string) => string): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(written(character));
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}
