import type { Build } from '../../../contract/index.ts';
import { type Getter, headerVariableOf, randomId, requestLineOf } from '../../../http/index.ts';
import { spooledBody } from '../../../bodies/index.ts';
import { type Families, header, headerName, live, plain, readHeader, type Variables } from './reading.ts';

/**
 * Returns the value of the first `name=value` in a query, still encoded; the name is given in lower case and matches in
 * any case (ngx_http_arg).
 */
function findArgument(args: string, name: string): string | undefined {
  for (let at = 0; at < args.length;) {
    const separator = args.indexOf('&', at);
    const end = separator < 0 ? args.length : separator;
    const equals = at + name.length;
    if (args[equals] === '=' && args.slice(at, equals).toLowerCase() === name)
      return args.slice(equals + 1, end);
    at = end + 1;
  }
  return undefined;
}

/**
 * Returns the value of the first `name=value` in a `Cookie` header. Pairs end with `;`; blanks around `=` are ignored,
 * blanks at the end of a value are not (ngx_http_parse_multi_header_lines).
 */
function findCookie(list: string, name: string): string | undefined {
  for (let at = 0; at < list.length;) {
    const end = at + name.length;
    const isNamed = list.slice(at, end).toLowerCase() === name;
    const mark = isNamed ? skipBlanks(list, end) : at;
    if (isNamed && list[mark] === '=') return valueFrom(list, skipBlanks(list, mark + 1));
    // A name without a value consumes the next pair, as in nginx.
    at = nextPair(list, isNamed ? mark + 1 : at);
  }
  return undefined;
}

function valueFrom(list: string, start: number): string {
  const stop = list.indexOf(';', start);
  return list.slice(start, stop < 0 ? list.length : stop);
}

function nextPair(list: string, at: number): number {
  const end = list.indexOf(';', at);
  return end < 0 ? list.length : skipBlanks(list, end + 1);
}

function skipBlanks(text: string, at: number): number {
  let next = at;
  while (text[next] === ' ') next++;
  return next;
}

/** Returns the user name of `Authorization: Basic …` (RFC 7617); the password is not checked here. */
function remoteUser(authorization: Getter): Getter {
  return (x) => {
    const credentials = /^basic +([a-z0-9+/=]+) *$/i.exec(authorization(x) ?? '')?.[1];
    if (credentials === undefined) return undefined;
    const text = Buffer.from(credentials, 'base64').toString('utf8');
    const colon = text.indexOf(':');
    return colon > 0 ? text.slice(0, colon) : undefined;
  };
}

/** Returns the port of an absolute target or a `Host` value, after a name, an address or a bracketed IPv6 literal. */
function requestPort(host: Getter): Getter {
  return (x) => /^(?:\[[^\]]*\]|[^:]*):(\d+)$/.exec(x.request.authority || (host(x) ?? ''))?.[1];
}

/** Variables about the request, including the URI after rewrites (nginx ngx_http_core_module#variables). */
export const ofRequest: Variables = {
  args: {
    ...plain('The query string.', (x) => x.args || undefined),
    assign: (x, value) => {
      x.args = value;
      x.isOriginalUri = false;
    },
  },
  query_string: plain('The query string.', (x) => x.args || undefined),
  is_args: plain('`?` when there is a query string.', (x) => (x.args === '' ? '' : '?')),
  uri: plain('The decoded, normalised path; internal redirects change it.', (x) => x.uri || undefined),
  document_uri: plain('The same as `$uri`.', (x) => x.uri || undefined),
  request_uri: plain('The request target as received, query included.', (x) => x.request.requestUri),
  request: plain('The request line.', ({ main }) => requestLineOf(main.request)),
  request_method: plain('The method; GET while an error page is served.', (x) => x.main.method),
  request_length: live('Bytes of the request.', (x) => String(x.wire.requestLength)),
  request_id: live('16 random bytes in hexadecimal, the same for the whole request.', randomId),
  request_body: live('The body, where it was read for an upstream and is in memory.', (x) =>
    spooledBody(x.main)?.bytes?.toString(),
  ),
  request_body_file: live(
    'The file that has the body, where it has a name.',
    (x) => spooledBody(x.main)?.path,
  ),
  request_port: {
    summary: 'The port in an absolute target, or in the `Host` header.',
    compile: (build) => requestPort(readHeader('host', build)),
  },
  is_request_port: {
    summary: '`:` if `$request_port` has a value.',
    compile: (build) => {
      const port = requestPort(readHeader('host', build));
      return (x) => (port(x) === undefined ? '' : ':');
    },
  },
  host: plain('Host name of the request, else the server name.', (x) => x.request.host || x.serverName),
  remote_user: {
    summary: 'User name of basic authentication.',
    compile: (build) => remoteUser(readHeader('authorization', build)),
  },
  content_type: header('The request header `Content-Type`.', 'content-type'),
  content_length: {
    summary:
      'The request header `Content-Length`, or the length of a chunked body that was read for an upstream.',
    compile: (build) => {
      const announced = readHeader('content-length', build);
      return (x) => announced(x) ?? spooledBody(x.main)?.length.toString();
    },
  },
};

/** Headers that nginx finds by their exact names only (ngx_http_core_variables); access lists and limits use them. */
const EXACT: ReadonlySet<string> = new Set(['user_agent', 'x_forwarded_for']);

function compileHeader(rest: string, build: Build): Getter {
  const name = headerName(rest);
  const read = readHeader(name, build);
  return EXACT.has(rest) || name === rest ? read : (x) => headerVariableOf(x.request.headers, name);
}

/** Variables whose names have a variable part: `$arg_page`, `$http_user_agent`. */
export const requestFamilies: Families = {
  arg_: {
    summary: 'A parameter of the query string, still encoded.',
    compile: (name) => (x) => (x.args === '' ? undefined : findArgument(x.args, name)),
  },
  http_: { summary: 'A request header.', compile: compileHeader },
  cookie_: {
    summary: 'A cookie.',
    compile: (name, build) => {
      const cookies = readHeader('cookie', build);
      return (x) => {
        const list = cookies(x);
        return list === undefined ? undefined : findCookie(list, name);
      };
    },
  },
};
