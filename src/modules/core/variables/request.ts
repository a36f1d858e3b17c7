import { spooledBody } from '../../../pool/index.ts';
import { remoteUser } from './remote-user.ts';
import { header, headerName, live, plain, readHeader } from './reading.ts';
import type { Families, Variables } from './reading.ts';
import { findArgument, findCookie } from './find-pair.ts';
import { requestId } from './request-id.ts';
import { requestPort } from './request-port.ts';

/** What the client asked for, and what rewrites made of it (nginx ngx_http_core_module#variables). */
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
  uri: plain('The decoded, normalised path; internal redirects change it.', (x) => x.uri),
  document_uri: plain('The same as `$uri`.', (x) => x.uri),
  request_uri: plain('The request target as received, query included.', (x) => x.requestUri),
  request: plain(
    'The request line.',
    ({ main: { requestMethod, requestUri, httpVersion } }) =>
      `${requestMethod} ${requestUri} HTTP/${httpVersion}`,
  ),
  request_method: plain('The method; GET while an error page is served.', (x) => x.main.method),
  request_length: live('Bytes of the request.', (x) => String(x.requestLength)),
  request_id: live('16 random bytes in hexadecimal, the same for the whole request.', requestId),
  request_body: live('The body, where it was read for an upstream and is in memory.', (x) =>
    spooledBody(x)?.bytes?.toString(),
  ),
  request_body_file: live('The file that has the body, where it has a name.', (x) => spooledBody(x)?.path),
  request_port: {
    summary: 'The port that the client named in `Host`.',
    compile: (build) => requestPort(readHeader('host', build)),
  },
  is_request_port: {
    summary: '`:` when the client named a port.',
    compile: (build) => {
      const port = requestPort(readHeader('host', build));
      return (x) => (port(x) === undefined ? '' : ':');
    },
  },
  host: plain('Host name of the request, else the server name.', (x) => x.host || x.serverName),
  remote_user: {
    summary: 'User name of basic authentication.',
    compile: (build) => remoteUser(readHeader('authorization', build)),
  },
  content_type: header('The request header `Content-Type`.', 'content-type'),
  content_length: header('The request header `Content-Length`.', 'content-length'),
};

/** Variables whose names continue: `$arg_page`, `$http_user_agent`. */
export const requestFamilies: Families = {
  arg_: {
    summary: 'A parameter of the query string, as it was sent.',
    compile: (name) => (x) => (x.args === '' ? undefined : findArgument(x.args, name)),
  },
  http_: { summary: 'A request header.', compile: (rest, build) => readHeader(headerName(rest), build) },
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
