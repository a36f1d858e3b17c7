import type { Exchange } from '../../http/index.ts';
import type { ReplyShape } from './commands.ts';
import type { ErrorCode } from './errors.ts';
import { ERROR_STATUS } from './errors.ts';
import type { Reply } from './store.ts';

const JSON_TYPE = 'application/json';

/** Answers with an error and its status. */
export function sendError(x: Exchange, code: ErrorCode): void {
  x.send(ERROR_STATUS[code], JSON_TYPE, `{"error":"${code}"}`);
}

/** Answers with what the store replied; `encoding` is how strings are written. */
export function sendReply(x: Exchange, shape: ReplyShape, reply: Reply, encoding: 'utf8' | 'base64'): void {
  x.send(200, JSON_TYPE, replyText(shape, reply, encoding));
}

/** The JSON document of the specification's section 2.3. Integers are copied digit by digit: they may exceed 2^53. */
function replyText(shape: ReplyShape, reply: Reply, encoding: 'utf8' | 'base64'): string {
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

function stringText(value: Buffer | null, encoding: 'utf8' | 'base64'): string {
  return value === null ? 'null' : JSON.stringify(value.toString(encoding));
}

/** Bytes of the strings in a reply. */
export function replyBytes(shape: ReplyShape, reply: Reply): number {
  if (shape === 'text') return (reply as Buffer | null)?.length ?? 0;
  if (shape !== 'texts') return 0;
  return (reply as readonly (Buffer | null)[]).reduce((sum, item) => sum + (item?.length ?? 0), 0);
}
