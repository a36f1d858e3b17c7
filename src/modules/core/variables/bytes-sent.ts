import { statusLine } from '../../../http/index.ts';
import type { Exchange } from '../../../http/index.ts';

/** `HTTP/1.1 `, the ends of the status line and of the head. */
const FRAME_BYTES = 9 + 2 + 2;
/** `Date` and the line that uWebSockets.js adds. */
const FIXED_BYTES = 'Date: Sat, 21 Nov 2026 00:00:00 GMT\r\nuWebSockets: 20\r\n'.length;

/** Bytes of an answer. No engine tells the length of a head, so it is added up from what it says. */
export function sentBytes(x: Exchange): number {
  if (!x.done || x.aborted) return 0;
  let head = FRAME_BYTES + FIXED_BYTES + statusLine(x.status, x.reason).length;
  head += lineBytes('Server', x.rules.serverToken);
  if (x.responseType !== '') head += lineBytes('Content-Type', x.responseType);
  const { responseHeaders: headers = [] } = x;
  for (let index = 0; index < headers.length; index += 2)
    head += lineBytes(headers[index] as string, headers[index + 1] as string);
  return head + lengthBytes(x) + x.bodyBytesSent;
}

/** Of the line that says where the body ends. */
function lengthBytes({ status, responseLength }: Exchange): number {
  if (status === 204 || status === 304) return 0;
  if (responseLength < 0) return lineBytes('Transfer-Encoding', 'chunked');
  return lineBytes('Content-Length', String(responseLength));
}

function lineBytes(name: string, value: string): number {
  return name.length + 2 + Buffer.byteLength(value) + 2;
}
