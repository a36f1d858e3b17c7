import { readers } from '../../../config/index.ts';
import type { Exchange, Getter } from '../../../http/index.ts';
import { sentBytes } from './bytes-sent.ts';
import { headerName, live, plain, readHeader } from './reading.ts';
import type { Families, Variables } from './reading.ts';

/** What the client gets. */
export const ofAnswer: Variables = {
  status: plain('Status of the answer, as far as it is decided; else `000`.', (x) =>
    String(x.status || x.errorStatus).padStart(3, '0'),
  ),
  body_bytes_sent: live('Bytes of the answer without its head.', (x) => String(x.bodyBytesSent)),
  bytes_sent: live('Bytes of the answer; the framing of a body in chunks does not count.', (x) =>
    String(sentBytes(x)),
  ),
  request_completion: plain('`OK` when the request was answered completely.', (x) =>
    x.done && !x.aborted ? 'OK' : '',
  ),
  limit_rate: {
    ...plain('Bytes per second that the answer may take; `set` changes it.', (x) => String(x.limitRate)),
    assign: setLimitRate,
  },
  sent_http_connection: {
    summary: '`close` or `keep-alive`: what becomes of the connection.',
    compile(build) {
      const wish = readHeader('connection', build);
      return (x) => (x.status === 101 ? 'upgrade' : keepsAlive(x, wish) ? 'keep-alive' : 'close');
    },
  },
  sent_http_keep_alive: {
    summary: 'The header `Keep-Alive` of the answer.',
    compile(build) {
      const wish = readHeader('connection', build);
      return (x) => (keepsAlive(x, wish) ? x.rules.connection.keepaliveHeader : undefined);
    },
  },
  sent_http_content_type: plain('The type of the answer.', (x) => x.responseType || undefined),
  sent_http_content_length: plain('The length of the answer, where it is known.', (x) =>
    x.responseLength < 0 ? undefined : String(x.responseLength),
  ),
  sent_http_transfer_encoding: plain('`chunked` when the length of the answer is not known.', (x) =>
    x.done && x.responseLength < 0 && x.httpVersion === '1.1' ? 'chunked' : undefined,
  ),
};

/** Variables whose names continue: `$sent_http_etag`. */
export const answerFamilies: Families = {
  sent_http_: {
    summary: 'A header of the answer; several of one name are joined.',
    compile: (rest) => {
      const name = headerName(rest);
      return (x) => x.joinedResponseHeader(name);
    },
  },
};

function keepsAlive(x: Exchange, wish: Getter): boolean {
  const wished = wish(x)?.toLowerCase() ?? '';
  if (!x.rules.connection.keepalive || wished.includes('close')) return false;
  return x.httpVersion === '1.1' || wished.includes('keep-alive');
}

/** nginx ngx_http_variable_set_limit_rate */
function setLimitRate(x: Exchange, value: string): void {
  const rate = readers.parseSize(value);
  if (rate === undefined) x.rules.warn(`invalid $limit_rate "${value}"`, x);
  else x.limitRate = rate;
}
