import { call } from '../harness/http.ts';
import type { Answer } from '../harness/http.ts';

const PRODUCT = /\b(?:nginx|gw)(?:\/[\d.]+)?/g;
/** nginx pads its own pages for browsers that would show theirs instead. */
const PADDING = /<!-- a padding to disable MSIE and Chrome friendly error page -->\r\n/g;

/** Sends `METHOD target [| Header: value]... [<< body]` and gives the answer as one line. */
export async function answerLine(port: number, request: string): Promise<string> {
  const [head = '', body] = request.split(' << ');
  const [line = '', ...headerLines] = head.split(' | ');
  const [method = 'GET', target = '/'] = line.split(' ');
  const headers = Object.fromEntries(headerLines.map((text) => text.split(/: ?(.*)/s).slice(0, 2)));
  const init = { method, headers: { host: 'a.example', ...headers }, ...(body !== undefined && { body }) };
  try {
    return describe(await call(port, target, init)).replaceAll(String(port), 'PORT');
  } catch {
    return 'closed without an answer';
  }
}

/** `200 text/plain X-A=1: the body`; a built-in page shows as its title. */
function describe({ status, headers, body }: Answer): string {
  const location = headers.get('location');
  const added = [...headers]
    .filter(([name]) => name.startsWith('x-'))
    .map(([name, value]) => `${name}=${value}`);
  const facts = [
    String(status),
    headers.get('content-type'),
    location !== null && `-> ${location}`,
    ...added,
  ];
  const plain = body.replaceAll(PADDING, '').replaceAll(PRODUCT, 'PRODUCT');
  const [, title] = /^<html>\r\n<head><title>(.*)<\/title>/.exec(plain) ?? [];
  const shown = title === undefined ? JSON.stringify(plain).slice(1, -1) : `<${title}> ${plain.length} bytes`;
  return `${facts.filter(Boolean).join(' ')}: ${shown}`.replaceAll(PRODUCT, 'PRODUCT').trimEnd();
}
