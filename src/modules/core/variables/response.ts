import { readers } from '../../../config/index.ts';
import { type Exchange, type Getter, headBytes } from '../../../http/index.ts';
import { type Families, headerName, live, plain, readHeader, type Variables } from './reading.ts';

/** Returns the bytes of the response. */
function sentBytes(x: Exchange): number {
  return x.done && x.response.isDecided ? x.bodyBytesSent + headBytes(x) : 0;
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
      String(x.response.rate?.bytesPerSecond ?? 0),
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
  else x.response.changeRate({ bytesPerSecond: rate });
}
