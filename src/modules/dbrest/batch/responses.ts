import { isUtf8 } from 'node:buffer';
import type { Exchange } from '../../../http/index.ts';
import type { KeptResponse } from '../request/index.ts';
import { parseJson } from '../json.ts';

/** The response of an item. */
export interface ItemResponse {
  readonly x: Exchange;
  readonly response: KeptResponse;
  /** The database has written its JSON; that of functions and media handlers may be anything. */
  readonly isOwnJson: boolean;
}

const OPEN = Buffer.from('[');
const BETWEEN = Buffer.from(',\n');
const CLOSE = Buffer.from(']');

/** The responses of a batch as JSON. Bodies are copied as they are, so that numbers keep their digits. */
export function responsesJson(items: readonly ItemResponse[]): readonly Buffer[] {
  return [OPEN, ...items.flatMap((item, i) => [...(i > 0 ? [BETWEEN] : []), ...itemJson(item)]), CLOSE];
}

function itemJson({ x, response, isOwnJson }: ItemResponse): readonly Buffer[] {
  const { status } = x;
  const head = `{"status":${status},"headers":${JSON.stringify(headersOf(x))}`;
  const { body } = response;
  if (body.length === 0) return [Buffer.from(`${head}}`)];
  if (isJsonType(x.response.type) && (isOwnJson || isJson(body)))
    return [Buffer.from(`${head},"body":`), body, Buffer.from('}')];
  const isText = isUtf8(body);
  const text = JSON.stringify(body.toString(isText ? 'utf8' : 'base64'));
  return [Buffer.from(`${head},"body":${text}${isText ? '' : ',"encoding":"base64"'}}`)];
}

/** A header that is given several times is an array. */
function headersOf({ response }: Exchange): Readonly<Record<string, string | string[]>> {
  const { headers = [], type } = response;
  const byName = new Map<string, string[]>();
  const add = (name: string, value: string): void => {
    const lower = name.toLowerCase();
    const before = byName.get(lower);
    if (before) before.push(value);
    else byName.set(lower, [value]);
  };
  if (type !== '') add('content-type', type);
  for (let i = 0; i + 1 < headers.length; i += 2) add(headers[i] as string, headers[i + 1] as string);
  return Object.fromEntries(
    Array.from(byName, ([name, values]) => [name, values.length === 1 ? (values[0] as string) : values]),
  );
}

function isJsonType(type: string): boolean {
  return /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type);
}

function isJson(body: Buffer): boolean {
  return isUtf8(body) && parseJson(body.toString()) !== undefined;
}
