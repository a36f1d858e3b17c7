import type { IncomingMessage } from 'node:http';
import { send } from '../harness/http.ts';
import { PRODUCT } from './product.ts';

const PADDING = /<!-- a padding to disable MSIE and Chrome friendly error page -->\r\n/g;
/** Headers that differ between any two servers, or that belong to the client's connection alone. */
const NOT_SHOWN: ReadonlySet<string> = new Set(['date', 'server', 'uwebsockets', 'connection', 'keep-alive']);
const SHOWN_BYTES = 120;

/**
 * Sends `METHOD target [| Header: value]... [<< body]` and gives all that the client can see of the response:
 * `200 OK | header: value | … : the body`. `cut` stands where the connection ended before the response was complete.
 */
export async function wholeResponse(port: number, request: string): Promise<string> {
  const [head = '', body] = request.split(' << ');
  const [line = '', ...headerLines] = head.split(' | ');
  const [method = 'GET', path = '/'] = line.split(' ');
  const headers: [string, string][] = headerLines.map(
    (text) => text.split(/: ?(.*)/s).slice(0, 2) as [string, string],
  );
  const given = headers.map(([name]) => name.toLowerCase());
  if (!given.includes('host')) headers.unshift(['Host', 'a.example']);
  if (body !== undefined && !given.includes('transfer-encoding'))
    headers.push(['Content-Length', String(Buffer.byteLength(body))]);
  try {
    const message = await send(port, { path, method, headers: headers.flat() }, body);
    return describe(message, await collect(message));
  } catch {
    return 'closed without an answer';
  }
}

interface Collected {
  readonly text: string;
  readonly isCut: boolean;
}

function collect(message: IncomingMessage): Promise<Collected> {
  return new Promise((resolve) => {
    let text = '';
    message.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    message.on('end', () => resolve({ text, isCut: !message.complete }));
    message.on('error', () => resolve({ text, isCut: true }));
  });
}

function describe(
  { statusCode, statusMessage, rawHeaders }: IncomingMessage,
  { text, isCut }: Collected,
): string {
  const headers: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase();
    if (!NOT_SHOWN.has(name)) headers.push(`${name}: ${rawHeaders[index + 1]}`);
  }
  // Headers of one name keep their order.
  headers.sort((one, other) => (one.split(':')[0] as string).localeCompare(other.split(':')[0] as string));
  const plain = text.replaceAll(PADDING, '').replaceAll(PRODUCT, 'PRODUCT');
  const [, title] = /^<html>\r\n<head><title>(.*)<\/title>/.exec(plain) ?? [];
  const shown =
    title === undefined ? shorten(JSON.stringify(plain).slice(1, -1), plain.length) : `<${title}>`;
  const facts = title === undefined ? headers : headers.filter((line) => !line.startsWith('content-length'));
  return `${[`${statusCode} ${statusMessage}`, ...facts].join(' | ')}: ${shown}${isCut ? ' (cut)' : ''}`.trimEnd();
}

function shorten(text: string, length: number): string {
  return text.length <= SHOWN_BYTES ? text : `${text.slice(0, SHOWN_BYTES)}… ${length} bytes`;
}
