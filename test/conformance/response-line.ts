import { createHash } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { type CallInit, type ReceivedResponse, call } from '../harness/http.ts';
import { maskPort } from './mask-port.ts';
import { PRODUCT } from './product.ts';

/** nginx pads its own pages for browsers that would show their own instead. */
const PADDING = /<!-- a padding to disable MSIE and Chrome friendly error page -->\r\n/g;
/** The built-in page of a status, as opposed to one from a configuration. */
const BUILT_IN = /^<html>\r\n<head><title>(.*)<\/title>[^]*<hr><center>PRODUCT<\/center>/;
/** Every multipart response has its own boundary. */
const BOUNDARY = /(?<=boundary=|--)\d{20}/g;
/** Longer bodies show as their length and their checksum. */
const LONGEST_SHOWN = 10_000;

interface ResponseLineOptions {
  /** Headers that it shows besides the usual ones; a case names them in a line `# show: vary etag`. */
  readonly shown?: readonly string[];
  /** Default: over HTTP/1.1, on a connection of its own. */
  readonly send?: (port: number, path: string, init: CallInit) => Promise<ReceivedResponse>;
}

/**
 * Sends `METHOD target [| Header: value]... [<< body]` and gives the response as one line. Bodies in gzip or Brotli show unpacked,
 * `padding` is how often a built-in page repeats it.
 */
export async function responseLine(
  port: number,
  request: string,
  { shown = [], send = call }: ResponseLineOptions = {},
): Promise<string> {
  const [head = '', body] = request.split(' << ');
  const [line = '', ...headerLines] = head.split(' | ');
  const [method = 'GET', target = '/'] = line.split(' ');
  const headers = Object.fromEntries(headerLines.map((text) => text.split(/: ?(.*)/s).slice(0, 2)));
  const init = { method, headers: { host: 'a.example', ...headers }, ...(body !== undefined && { body }) };
  try {
    return maskPort(describe(await send(port, target, init), shown), port);
  } catch {
    return 'closed without an answer';
  }
}

/** `200 text/plain X-A=1: the body`; a built-in page shows as its title. */
function describe({ status, headers, bytes }: ReceivedResponse, shown: readonly string[]): string {
  const location = headers.get('location');
  const body = unpacked(bytes, headers.get('content-encoding')).toString('utf8');
  const padding = [...body.matchAll(PADDING)];
  const plain = body.replaceAll(PADDING, '').replaceAll(PRODUCT, 'PRODUCT').replaceAll(BOUNDARY, 'BOUNDARY');
  const [, title] = BUILT_IN.exec(plain) ?? [];
  const content = title === undefined ? shownText(plain) : `<${title}> ${plain.length} bytes`;
  const facts = [
    String(status),
    headers.get('content-type'),
    location !== null && `-> ${location}`,
    ...[...headers]
      .filter(([name]) => name.startsWith('x-') || shown.includes(name))
      // The length of a built-in page depends on the product's name.
      .filter(([name]) => name !== 'content-length' || title === undefined)
      .map(([name, value]) => `${name}=${name === 'expires' ? steadyDate(value, headers) : value}`),
    padding.length > 0 && shown.includes('padding') && `padding=${padding.length}`,
  ];
  const response = `${facts.filter(Boolean).join(' ')}: ${content}`;
  return response.replaceAll(PRODUCT, 'PRODUCT').replaceAll(BOUNDARY, 'BOUNDARY').trimEnd();
}

/** Gives the body without its coding; some responses only say that they are packed. */
function unpacked(bytes: Buffer, coding: string | null): Buffer {
  if (coding === 'gzip' && bytes[0] === 0x1f) return gunzipSync(bytes);
  try {
    return coding === 'br' ? brotliDecompressSync(bytes) : bytes;
  } catch {
    return bytes;
  }
}

function shownText(text: string): string {
  if (text.length <= LONGEST_SHOWN) return JSON.stringify(text).slice(1, -1);
  return `${text.length} characters, SHA-1 ${createHash('sha1').update(text).digest('hex')}`;
}

/** A date that follows from that of the response as the seconds between them, to the nearest ten: a second may have passed in between. */
function steadyDate(value: string, headers: Headers): string {
  const seconds = (Date.parse(value) - Date.parse(headers.get('date') ?? '')) / 1000;
  return seconds > -1e7 && seconds < 1e8 ? `${Math.round(seconds / 10) * 10}s` : value;
}
