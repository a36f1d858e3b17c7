/** Every `error` of a kv answer and its status (contract page, "Statuses"). */
export const ERROR_STATUS = {
  missing_field: 400,
  missing_keys: 400,
  too_many_keys: 400,
  empty_body: 400,
  empty_key: 400,
  host_not_allowed: 403,
  method_not_allowed: 405,
  body_too_large: 413,
  kv_error: 500,
  connection_failed: 502,
  value_too_large: 502,
  timeout: 504,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** Longest piece of foreign text in a log line, in UTF-16 units. */
const MAX_PRINTED = 256;

/** Text of a store or an operating system for a log line: one line, bounded, control characters as `\xXX`. */
export function printable(text: string): string {
  const cut = text.length > MAX_PRINTED ? `${text.slice(0, MAX_PRINTED)}...` : text;
  // eslint-disable-next-line no-control-regex -- control characters are what it looks for
  return cut.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}
