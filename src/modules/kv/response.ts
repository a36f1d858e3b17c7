import type { Exchange } from '../../http/index.ts';
import type { Reply, ReplyShape } from './commands.ts';

/** The `error` codes of responses and their statuses. */
const ERROR_STATUS = {
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

/** Maximum length of foreign text in a log line, in UTF-16 units. */
const MAX_PRINTED = 256;

/** Prepares text of a store or an operating system for a log line: one line, bounded, control characters as `\xXX`. */
export function printable(text: string): string {
  const cut = text.length > MAX_PRINTED ? `${text.slice(0, MAX_PRINTED)}...` : text;
  // eslint-disable-next-line no-control-regex -- it looks for control characters
  return cut.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}

/** The line that counts requests which failed shortly after one that has a line. */
export function moreFailed(count: number, store: string): string {
  return `kv: ${count} more requests for ${store} have failed`;
}

/** Content type of every response. */
export const JSON_TYPE = 'application/json';

/** Sends an error with its status. */
export function sendError(x: Exchange, code: ErrorCode): void {
  x.send(ERROR_STATUS[code], JSON_TYPE, `{"error":"${code}"}`);
}

/** The encoding of strings in a reply: UTF-8 with replacement characters, or base64. */
type Encoding = 'utf8' | 'base64';

/** Returns the JSON document for a reply. Integers are copied digit by digit, since they may exceed 2^53. */
export function replyText(shape: ReplyShape, reply: Reply, encoding: Encoding): string {
  switch (shape) {
    case 'text':
      return `{"value":${stringText(reply as Buffer | null, encoding)}}`;
    case 'texts':
      return `{"values":[${(reply as readonly (Buffer | null)[]).map((item) => stringText(item, encoding)).join(',')}]}`;
    case 'integer':
      return `{"value":${reply as string}}`;
    case 'status':
      return '{"ok":true}';
  }
}

function stringText(value: Buffer | null, encoding: Encoding): string {
  return value === null ? 'null' : JSON.stringify(value.toString(encoding));
}

/** Returns the number of bytes of the strings in a reply. */
export function replyBytes(shape: ReplyShape, reply: Reply): number {
  if (shape === 'text') return (reply as Buffer | null)?.length ?? 0;
  if (shape !== 'texts') return 0;
  return (reply as readonly (Buffer | null)[]).reduce((sum, item) => sum + (item?.length ?? 0), 0);
}
