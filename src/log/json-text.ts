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
  return text.length * MAX_BYTES_PER_UNIT <= maxBytes ? text : beginning(text, maxBytes, bytesInText);
}

/** Returns the longest beginning of a text whose `jsonString` takes at most so many bytes, quotation marks included. */
export function cutForJson(text: string, maxBytes: number): string {
  return beginning(text, maxBytes - 2, bytesInJson);
}

/** Lines are cut because somebody has sent long values: the time is that of one look at each character that stays. */
function beginning(text: string, maxBytes: number, bytesOf: (code: number) => number): string {
  let bytes = 0;
  let end = 0;
  while (end < text.length) {
    const code = text.codePointAt(end) as number;
    bytes += bytesOf(code);
    if (bytes > maxBytes) return text.slice(0, end);
    end += code > 0xffff ? 2 : 1;
  }
  return text;
}

function bytesInText(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code > 0xffff ? 4 : MAX_BYTES_PER_UNIT;
}

const SHORT_ESCAPE_BYTES = 2;
const LONG_ESCAPE_BYTES = 6;

/** Bytes of a character in `jsonString`. */
function bytesInJson(code: number): number {
  const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f);
  if (isControl || code === 0x22 || code === 0x5c)
    return SHORT_ESCAPES[String.fromCharCode(code)] ? SHORT_ESCAPE_BYTES : LONG_ESCAPE_BYTES;
  return code === 0x2028 || code === 0x2029 ? LONG_ESCAPE_BYTES : bytesInText(code);
}

/** Returns milliseconds with three decimals, as JSON shows them; -1 stays, for what was never reached. */
export function roundedMs(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
