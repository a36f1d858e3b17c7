/** Returns whether a value is a JSON object, and not an array, null or a primitive. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a JSON text; `undefined` when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The media type of the JSON that gw itself writes. */
export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

const MOST_BYTES = 8_192;
const MOST_DEPTH = 32;

const OPENS = new Set([0x5b, 0x7b]);
const CLOSES = new Set([0x5d, 0x7d]);
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The text and the value of a JSON document in UTF-8; `undefined` when it is malformed, or larger or deeper than a token
 * may be.
 */
export function parseLimited(
  bytes: Uint8Array,
): { readonly text: string; readonly value: unknown } | undefined {
  if (bytes.length > MOST_BYTES || depthOf(bytes) > MOST_DEPTH) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return { text, value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** The nesting depth, counted without recursion before the text is parsed. */
function depthOf(bytes: Uint8Array): number {
  let depth = 0;
  let deepest = 0;
  let quoted = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (quoted && byte === BACKSLASH) at += 1;
    else if (byte === QUOTE) quoted = !quoted;
    else if (quoted) continue;
    else if (OPENS.has(byte)) deepest = Math.max(deepest, (depth += 1));
    else if (CLOSES.has(byte)) depth -= 1;
  }
  return deepest;
}
