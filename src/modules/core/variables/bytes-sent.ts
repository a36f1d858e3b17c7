import { statusLine } from '../../../http/index.ts';
import type { Exchange } from '../../../http/index.ts';

/** `HTTP/1.1 `, the ends of the status line and of the head. */
const FRAME_BYTES = 9 + 2 + 2;
/** What uWebSockets.js adds. */
const FIXED_BYTES = 'Date: Sat, 21 Nov 2026 00:00:00 GMT\r\n'.length;

/** Bytes of an answer. uWebSockets.js does not tell the length of a head: it is added up from what gw had it say. */
export function sentBytes(x: Exchange): number {
  if (!x.done || x.aborted) return 0;
  return x.bodyBytesSent + (x.sentHead === undefined ? headBytes(x) : Buffer.byteLength(x.sentHead));
}

function headBytes(x: Exchange): number {
  let bytes = FRAME_BYTES + FIXED_BYTES + statusLine(x.status, x.reason).length + lengthBytes(x);
  if (x.serverToken !== '') bytes += lineBytes('Server', x.serverToken);
  if (x.responseType !== '') bytes += lineBytes('Content-Type', x.responseType);
  const { responseHeaders: headers = [] } = x;
  for (let index = 0; index < headers.length; index += 2)
    bytes += lineBytes(headers[index] as string, headers[index + 1] as string);
  return bytes;
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
