import { isUtf8 } from 'node:buffer';
import type { Exchange } from '../../../http/index.ts';
import { parseJson } from '../json.ts';
import type { Json } from './message.ts';

/** A result that is a JSON object; clients of older revisions read the text. */
export function immediateResult(json: string | Buffer): Json {
  const text = JSON.stringify(json.toString());
  return ['{"content":[{"type":"text","text":', text, '}],"structuredContent":', json, ',"isError":false}'];
}

/** A failure, for the model to read. */
export function failedResult(text: string): Json {
  return ['{"content":[{"type":"text","text":', JSON.stringify(text), '}],"isError":true}'];
}

/** The result of a call from the response of the database. `member`: the name of its body. */
export function resultOf(x: Exchange, body: Buffer, member: 'rows' | 'result'): Json {
  if (x.status >= 400 || x.status === 0) return failedResult(body.toString());
  if (body.length === 0) return immediateResult(countJson(x, member));
  const isJson = isUtf8(body) && parseJson(body.toString()) !== undefined;
  const json = isJson ? body : Buffer.from(JSON.stringify(body.toString()));
  return immediateResult(Buffer.concat([Buffer.from(`{"${member}":`), json, Buffer.from('}')]));
}

/** A write without rows tells how many it has changed; a function without a result has none. */
function countJson({ response }: Exchange, member: 'rows' | 'result'): string {
  const [, total] = /\/(\d+)$/.exec(response.header('content-range') ?? '') ?? [];
  return member === 'rows' && total !== undefined ? `{"affected":${total}}` : `{"${member}":null}`;
}
