import type { ResponseHead } from './response-head.ts';
import { hasNoBody, statusLine } from './status.ts';

/** The parts of an exchange that its head is made of. */
export interface HeadedResponse {
  readonly status: number;
  readonly serverToken: string;
  readonly response: ResponseHead;
}

/** `HTTP/1.1 `, and the line ends of the status line and of the head. */
const FRAME_BYTES = 9 + 2 + 2;
/** The header that uWebSockets.js adds. */
const FIXED_BYTES = 'Date: Sat, 21 Nov 2026 00:00:00 GMT\r\n'.length;

/** Returns the size of a response's head. uWebSockets.js does not report it, so it is computed from its parts. */
export function headBytes(x: HeadedResponse): number {
  const { sentText } = x.response;
  return sentText === undefined ? computedBytes(x) : Buffer.byteLength(sentText);
}

function computedBytes(x: HeadedResponse): number {
  let bytes = FRAME_BYTES + FIXED_BYTES + statusLine(x.status, x.response.reason).length + lengthBytes(x);
  if (x.serverToken !== '') bytes += lineBytes('Server', x.serverToken);
  if (x.response.type !== '') bytes += lineBytes('Content-Type', x.response.type);
  const { headers = [] } = x.response;
  for (let index = 0; index < headers.length; index += 2)
    bytes += lineBytes(headers[index] as string, headers[index + 1] as string);
  return bytes;
}

/** Returns the size of the header line that frames the body. */
function lengthBytes({ status, response }: HeadedResponse): number {
  if (hasNoBody(status)) return 0;
  if (response.lengthBytes < 0) return lineBytes('Transfer-Encoding', 'chunked');
  return lineBytes('Content-Length', String(response.lengthBytes));
}

function lineBytes(name: string, value: string): number {
  return name.length + 2 + Buffer.byteLength(value) + 2;
}
