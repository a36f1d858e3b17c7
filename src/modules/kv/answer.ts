import type { Exchange } from '../../http/index.ts';
import type { ReplyShape } from './commands.ts';
import type { ErrorCode } from './errors.ts';
import { ERROR_STATUS } from './errors.ts';
import type { Reply } from './store.ts';

/** Type of every answer. */
export const JSON_TYPE = 'application/json';

/** Answers with an error and its status. */
export function sendError(x: Exchange, code: ErrorCode): void {
  x.send(ERROR_STATUS[code], JSON_TYPE, `{"error":"${code}"}`);
}

/** How strings of a reply are written: UTF-8 with replacement characters, or whole as base64. */
export type Encoding = 'utf8' | 'base64';

/** The JSON document of the specification's section 2.3. Integers are copied digit by digit: they may exceed 2^53. */
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

/** Bytes of the strings in a reply. */
export function replyBytes(shape: ReplyShape, reply: Reply): number {
  if (shape === 'text') return (reply as Buffer | null)?.length ?? 0;
  if (shape !== 'texts') return 0;
  return (reply as readonly (Buffer | null)[]).reduce((sum, item) => sum + (item?.length ?? 0), 0);
}
