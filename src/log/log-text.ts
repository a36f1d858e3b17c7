import { SHORT_ESCAPES } from './json-text.ts';

/**
 * The characters that `log_format escape=default` writes as `\xXX` (nginx ngx_http_log_escape): `"`, `\`, controls and
 * everything above `~`.
 */
const DEFAULT_UNSAFE = /[^ !#-[\]-~]/;
const DEFAULT_UNSAFE_RUN = /[^ !#-[\]-~]+/g;

// eslint-disable-next-line no-control-regex -- it looks for control bytes
const JSON_UNSAFE = /["\\\0-\x1f]/;
// eslint-disable-next-line no-control-regex -- it looks for control bytes
const EACH_JSON_UNSAFE = /["\\\0-\x1f]/g;

/** Escapes a value for a log line as nginx does by default: special UTF-8 bytes become `\xXX`. */
export function escapeDefault(text: string): string {
  return DEFAULT_UNSAFE.test(text) ? text.replace(DEFAULT_UNSAFE_RUN, hexBytes) : text;
}

/** Escapes a value for the inside of a JSON string (nginx ngx_escape_json). */
export function escapeJson(text: string): string {
  return JSON_UNSAFE.test(text) ? text.replace(EACH_JSON_UNSAFE, jsonEscape) : text;
}

function jsonEscape(character: string): string {
  return SHORT_ESCAPES[character] ?? `\\u00${hex(character.charCodeAt(0))}`;
}

function hexBytes(run: string): string {
  let escaped = '';
  for (const byte of Buffer.from(run)) escaped += `\\x${hex(byte)}`;
  return escaped;
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0');
}
