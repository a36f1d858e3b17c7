import { readers } from '../../../config/index.ts';
import {
  changeRate,
  type Exchange,
  type Getter,
  hasNoBody,
  rateOf,
  statusLine,
} from '../../../http/index.ts';
import { type Families, headerName, live, plain, readHeader, type Variables } from './reading.ts';

/** `HTTP/1.1 `, and the line ends of the status line and of the head. */
const FRAME_BYTES = 9 + 2 + 2;
/** The header that uWebSockets.js adds. */
const FIXED_BYTES = 'Date: Sat, 21 Nov 2026 00:00:00 GMT\r\n'.length;

/** Gives the bytes of the response. uWebSockets.js does not report the size of a head, so it is computed from its parts. */
function sentBytes(x: Exchange): number {
  const { isDecided, sentText } = x.response;
  if (!x.done || !isDecided) return 0;
  return x.bodyBytesSent + (sentText === undefined ? headBytes(x) : Buffer.byteLength(sentText));
}

function headBytes(x: Exchange): number {
  let bytes = FRAME_BYTES + FIXED_BYTES + statusLine(x.status, x.response.reason).length + lengthBytes(x);
  if (x.serverToken !== '') bytes += lineBytes('Server', x.serverToken);
  if (x.response.type !== '') bytes += lineBytes('Content-Type', x.response.type);
  const { headers = [] } = x.response;
  for (let index = 0; index < headers.length; index += 2)
    bytes += lineBytes(headers[index] as string, headers[index + 1] as string);
  return bytes;
}

/** Gives the bytes of the header line that frames the body. */
function lengthBytes({ status, response }: Exchange): number {
  if (hasNoBody(status)) return 0;
  if (response.lengthBytes < 0) return lineBytes('Transfer-Encoding', 'chunked');
  return lineBytes('Content-Length', String(response.lengthBytes));
}

function lineBytes(name: string, value: string): number {
  return name.length + 2 + Buffer.byteLength(value) + 2;
}

/** Variables about the response. */
export const ofResponse: Variables = {
  status: plain('Status of the response; `000` while it is not decided.', (x) =>
    String(x.status || x.errorStatus).padStart(3, '0'),
  ),
  body_bytes_sent: live('Bytes of the response body.', (x) => String(x.bodyBytesSent)),
  bytes_sent: live('Bytes of the response, without the framing of a chunked body.', (x) =>
    String(sentBytes(x)),
  ),
  request_completion: plain('`OK` if the response was sent completely.', (x) =>
    x.done && !x.aborted ? 'OK' : '',
  ),
  limit_rate: {
    ...plain('Maximum rate of the response in bytes per second; `set` changes it.', (x) =>
      String(rateOf(x)?.bytesPerSecond ?? 0),
    ),
    assign: setLimitRate,
  },
  sent_http_connection: {
    summary: '`close` or `keep-alive`: what happens to the connection.',
    compile(build) {
      const wish = readHeader('connection', build);
      return (x) => (x.status === 101 ? 'upgrade' : keepsAlive(x, wish) ? 'keep-alive' : 'close');
    },
  },
  sent_http_keep_alive: {
    summary: 'The header `Keep-Alive` of the response.',
    compile(build) {
      const wish = readHeader('connection', build);
      return (x) => (keepsAlive(x, wish) ? x.rules.connection.keepaliveHeader : undefined);
    },
  },
  sent_http_content_type: plain('Content type of the response.', (x) => x.response.type || undefined),
  sent_http_content_length: plain('Length of the response body, if it is known.', (x) =>
    x.response.lengthBytes < 0 ? undefined : String(x.response.lengthBytes),
  ),
  sent_http_transfer_encoding: plain('`chunked` if the length of the response body is not known.', (x) =>
    x.done && x.response.lengthBytes < 0 && x.request.httpVersion === '1.1' ? 'chunked' : undefined,
  ),
};

/** Variables whose names have a variable part: `$sent_http_etag`. */
export const responseFamilies: Families = {
  sent_http_: {
    summary: 'A header of the response; several with the same name are joined.',
    compile: (rest) => {
      const name = headerName(rest);
      return (x) => x.response.joinedHeader(name);
    },
  },
};

function keepsAlive(x: Exchange, wish: Getter): boolean {
  const wished = wish(x)?.toLowerCase() ?? '';
  if (!x.rules.connection.keepalive || wished.includes('close')) return false;
  return x.request.httpVersion !== '1.0' || wished.includes('keep-alive');
}

/** nginx ngx_http_variable_set_limit_rate */
function setLimitRate(x: Exchange, value: string): void {
  const rate = readers.parseSize(value);
  if (rate === undefined) x.writeLog(`invalid $limit_rate "${value}"`);
  else changeRate(x, { bytesPerSecond: rate });
}
