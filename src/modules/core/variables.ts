import { hostname } from 'node:os';
import type { ModuleDefinition } from '../../contract/index.ts';
import type { Build, CoreConfig } from '../../contract/index.ts';
import type { Getter } from '../../http/index.ts';
import { timeIso8601, timeLocal } from '../../log/index.ts';
import { remoteUser } from './remote-user.ts';
import { requestId } from './request-id.ts';

type Variables = NonNullable<ModuleDefinition<CoreConfig>['variables']>;
type Families = NonNullable<ModuleDefinition<CoreConfig>['families']>;

const plain = (summary: string, read: Getter): Variables[string] => ({ summary, compile: () => read });

const header = (summary: string, name: string): Variables[string] => ({
  summary,
  compile: (build) => readHeader(name, build),
});

const ofPeer = (summary: string, read: Getter): Variables[string] => ({
  summary,
  compile: (build) => {
    build.needPeer();
    return read;
  },
});

function readHeader(name: string, build: Build): Getter {
  build.needHeader(name);
  return (x) => x.header(name);
}

const HOSTNAME = hostname().toLowerCase();

/** nginx's core variables (nginx ngx_http_core_module#variables). */
export const variables: Variables = {
  args: {
    ...plain('The query string.', (x) => x.args || undefined),
    assign: (x, value) => void (x.args = value),
  },
  query_string: plain('The query string.', (x) => x.args || undefined),
  is_args: plain('`?` when there is a query string.', (x) => (x.args === '' ? '' : '?')),
  uri: plain('The decoded, normalised path; internal redirects change it.', (x) => x.uri),
  document_uri: plain('The same as `$uri`.', (x) => x.uri),
  request_uri: plain('The request target as received, query included.', (x) => x.requestUri),
  request: plain(
    'The request line.',
    ({ main: { requestMethod, requestUri, httpVersion } }) =>
      `${requestMethod} ${requestUri} HTTP/${httpVersion}`,
  ),
  request_method: plain('The method; GET while an error page is served.', (x) => x.method),
  request_length: plain('Bytes of the request.', (x) => String(x.requestLength)),
  request_time: plain('Seconds since the request came, with milliseconds.', (x) =>
    seconds(Date.now() - x.startedMs),
  ),
  request_id: plain('16 random bytes in hexadecimal, the same for the whole request.', requestId),
  request_completion: plain('`OK` when the request was answered completely.', (x) =>
    x.done && !x.aborted ? 'OK' : '',
  ),
  host: plain('Host name of the request, else the server name.', (x) => x.host || x.serverName),
  hostname: plain('Name of this machine.', () => HOSTNAME),
  remote_addr: ofPeer("The client's address.", (x) => x.remoteAddress),
  remote_port: ofPeer("The client's port; empty where uWebSockets.js does not tell.", (x) =>
    portText(x.remotePort),
  ),
  remote_user: {
    summary: 'User name of basic authentication.',
    compile: (build) => remoteUser(readHeader('authorization', build)),
  },
  scheme: plain('`http` or `https`.', (x) => x.port.scheme),
  https: plain('`on` over TLS.', (x) => (x.port.scheme === 'https' ? 'on' : '')),
  server_addr: plain('Address that the server listens on.', (x) => x.port.address),
  server_port: plain('Port that the request came in on.', (x) => portText(x.port.port)),
  server_name: plain('First name of the server that answers.', (x) => x.serverName),
  server_protocol: plain('Protocol of the request.', (x) => `HTTP/${x.httpVersion}`),
  status: plain('Status of the answer, as far as it is decided; else `000`.', (x) =>
    String(x.status || x.errorStatus).padStart(3, '0'),
  ),
  body_bytes_sent: plain('Bytes of the answer without its head.', (x) => String(x.bodyBytesSent)),
  connection: plain('Serial number of the connection; with uWebSockets.js, of the request.', (x) =>
    String(x.serial),
  ),
  content_type: header('The request header `Content-Type`.', 'content-type'),
  content_length: header('The request header `Content-Length`.', 'content-length'),
  msec: plain('Time in seconds with milliseconds.', () => seconds(Date.now())),
  time_local: plain('Time in the common log format.', () => timeLocal(Date.now())),
  time_iso8601: plain('Time in ISO 8601.', () => timeIso8601(Date.now())),
  pid: plain('Id of the process.', () => String(process.pid)),
};

/** Variables whose names continue: `$arg_page`, `$http_user_agent`. */
export const families: Families = {
  arg_: { summary: 'A parameter of the query string, as it was sent.', compile: readArgument },
  http_: { summary: 'A request header.', compile: (rest, build) => readHeader(headerName(rest), build) },
  cookie_: {
    summary: 'A cookie.',
    compile: (name, build) => {
      const cookies = readHeader('cookie', build);
      return (x) => findPair(cookies(x) ?? '', { name, separator: ';' });
    },
  },
  sent_http_: { summary: 'A header of the answer.', compile: readSentHeader },
};

function readArgument(name: string): Getter {
  return (x) => (x.args === '' ? undefined : findPair(x.args, { name, separator: '&' }));
}

interface PairSearch {
  readonly name: string;
  readonly separator: '&' | ';';
}

/** Value of the first `name=value` in a list, whatever the name's case (nginx); the value may hold further `=`. */
function findPair(list: string, { name, separator }: PairSearch): string | undefined {
  for (const item of list.split(separator)) {
    const pair = separator === ';' ? item.trim() : item;
    const equals = pair.indexOf('=');
    if (equals === name.length && pair.slice(0, equals).toLowerCase() === name) return pair.slice(equals + 1);
  }
  return undefined;
}

function readSentHeader(rest: string): Getter {
  const name = headerName(rest);
  if (name === 'content-type') return (x) => x.responseType || undefined;
  if (name === 'content-length') return (x) => (x.responseLength < 0 ? undefined : String(x.responseLength));
  return (x) => x.joinedResponseHeader(name);
}

function headerName(rest: string): string {
  return rest.replaceAll('_', '-');
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function portText(port: number): string {
  return port === 0 ? '' : String(port);
}
