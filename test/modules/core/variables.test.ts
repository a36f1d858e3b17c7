import { hostname } from 'node:os';
import { beforeAll, expect, test } from 'vitest';
import { families, variables } from '../../../src/modules/core/index.ts';
import { NGINX_VERSION, VERSION } from '../../../src/version.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';
import { exchangeRaw } from '../../harness/raw.ts';

/** The value of each variable for the request below. Variables that depend on the response are read from a log. */
const inBody: Readonly<Record<string, string | RegExp>> = {
  args: 'a=1&b=two%20words',
  query_string: 'a=1&b=two%20words',
  is_args: '?',
  uri: '/v/a b',
  document_uri: '/v/a b',
  request_uri: '/v/x/../a%20b?a=1&b=two%20words',
  request: 'POST /v/x/../a%20b?a=1&b=two%20words HTTP/1.1',
  request_method: 'POST',
  request_length: /^\d{3}$/,
  request_time: /^\d\.\d{3}$/,
  request_id: /^[0-9a-f]{32}$/,
  request_completion: '',
  request_body: '',
  request_body_file: '',
  request_port: '1234',
  is_request_port: ':',
  host: 'some.example',
  hostname: hostname().toLowerCase(),
  remote_addr: '127.0.0.1',
  remote_port: /^\d*$/,
  remote_user: 'Aladdin',
  binary_remote_addr: '\x7f\0\0\x01',
  scheme: 'http',
  https: '',
  http2: '',
  http3: '',
  proxy_protocol_addr: '',
  proxy_protocol_port: '',
  proxy_protocol_server_addr: '',
  proxy_protocol_server_port: '',
  proxy_protocol_tlv_alpn: '',
  pipe: '.',
  connection_requests: /^\d*$/,
  connection_time: /^(\d+\.\d{3})?$/,
  tcpinfo_rtt: '',
  tcpinfo_rttvar: '',
  tcpinfo_snd_cwnd: '',
  tcpinfo_rcv_space: '',
  nginx_version: NGINX_VERSION,
  gw_version: VERSION,
  server_addr: '127.0.0.1',
  server_port: /^\d{4,5}$/,
  server_name: 'first.example',
  server_protocol: 'HTTP/1.1',
  status: '200',
  body_bytes_sent: '0',
  bytes_sent: '0',
  limit_rate: '0',
  connection: /^\d+$/,
  content_type: 'text/x-test',
  content_length: '4',
  msec: /^\d{10}\.\d{3}$/,
  time_local: /^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}$/,
  time_iso8601: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/,
  date_local: /^[A-Z][a-z]+day, \d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d \S+$/,
  date_gmt: /^[A-Z][a-z]+day, \d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d GMT$/,
  pid: /^\d+$/,
  arg_a: '1',
  arg_b: 'two%20words',
  http_x_test: 'yes',
  cookie_c: 'crumb',
  cookie_d: '1, e=2',
  cookie_e: '',
  sent_http_x_added: '',
  sent_http_connection: 'close',
  sent_http_keep_alive: '',
  sent_http_content_type: '',
  sent_http_content_length: '',
  sent_http_transfer_encoding: '',
};

const inLog: Readonly<Record<string, string>> = {
  status: '200',
  body_bytes_sent: '4',
  request_completion: 'OK',
  sent_http_x_added: 'added, twice',
  sent_http_connection: 'close',
  sent_http_content_type: 'text/plain',
  sent_http_content_length: '4',
};

const file = wholeFile();
let gw: Gateway;

beforeAll(async () => {
  const logged = Object.keys(inLog).map((name) => `${name}=$${name}`);
  gw = await startGateway(
    file,
    `log_format all '${logged.join(';')}';
     server {
       server_name first.example second.example;
       location /v/ { return 200 "${Object.keys(inBody)
         .map((name) => `${name}=$${name}`)
         .join('\\n')}"; }
       location /logged { access_log all.log all; add_header X-Added added; add_header X-Added twice; return 200 body; }
     }`,
  );
});

test('every variable of the core has the value that nginx gives it', async () => {
  const { body } = await gw.fetch('/v/x/../a%20b?a=1&b=two%20words', {
    method: 'POST',
    body: 'body',
    headers: {
      host: 'Some.Example:1234',
      authorization: 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==',
      'content-type': 'text/x-test',
      'x-test': 'yes',
      cookie: 'a=b; c=crumb; d=1, e=2',
    },
  });
  const given = Object.fromEntries(body.split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2)));
  const wanted = Object.entries(inBody).map(([name, value]) => [
    name,
    value instanceof RegExp ? (expect.stringMatching(value) as string) : value,
  ]);
  expect(given).toEqual(Object.fromEntries(wanted));
});

test('a log has the variables of the response', async () => {
  await gw.fetch('/logged');
  await expect
    .poll(() => gw.read('all.log'))
    .toBe(
      `${Object.entries(inLog)
        .map(([name, value]) => `${name}=${value}`)
        .join(';')}\n`,
    );
});

test('a variable shows that the connection stays open', async () => {
  const response = await gw.raw('GET /v/ HTTP/1.1\r\nHost: a\r\n\r\n');
  expect(response).toContain('sent_http_connection=keep-alive\n');
});

test('this table names every variable of the core', () => {
  expect(Object.keys(inBody)).toEqual(expect.arrayContaining(Object.keys(variables)));
  for (const prefix of Object.keys(families)) expect(Object.keys(inBody).join()).toContain(prefix);
});

test('$request_port is that of an absolute target before that of the Host header (nginx 1.29.3)', async (t) => {
  const gw = await startGateway(
    t,
    (_, port) =>
      `server { listen 127.0.0.1:${port} engine=node; return 200 "[$request_port$is_request_port]"; }`,
  );
  const shown = async (target: string): Promise<string | undefined> =>
    /\[.*\]$/.exec(await exchangeRaw(gw.port, `GET ${target} HTTP/1.1\r\nHost: a:77\r\n\r\n`))?.[0];
  expect(await shown('/')).toBe('[77:]');
  expect(await shown('http://b:88/')).toBe('[88:]');
  expect(await shown('http://b/')).toBe('[]');
});
