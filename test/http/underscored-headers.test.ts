import { expect, test } from 'vitest';
import { oneGateway } from '../harness/gateway.ts';
import { call, type CallInit, type ReceivedResponse } from '../harness/http.ts';
import { callHttp2 } from '../harness/http2-client.ts';
import { startProgram } from '../harness/scripted-program.ts';

const load = oneGateway();

const REAL_IP = 'set_real_ip_from 127.0.0.1; real_ip_header';
const EVENTS = 'worker_events_api; worker_events_zone bus; worker_events_channel news;';
const JSON_BODY = '{"type":"a"}';
const [CLIENT, AGENT, DATE] = ['192.0.2.7', 'curl', 'Thu, 01 Jan 2099 00:00:00 GMT'];

/** What the content of a location gives without the header, and with it. A name with `_` is another header. */
const cases: readonly {
  header: string;
  value: string;
  decides: string;
  conf: string;
  init?: CallInit;
  http?: string;
  without: string;
  with: string;
}[] = [
  {
    header: 'X-Forwarded-For',
    value: CLIENT,
    decides: 'an access list behind real_ip',
    conf: `${REAL_IP} X-Forwarded-For; allow ${CLIENT}; deny all; root .;`,
    without: '403 ',
    with: '200 ',
  },
  {
    header: 'X-Real-IP',
    value: CLIENT,
    decides: 'the address of real_ip',
    http: `${REAL_IP} X-Real-IP;`,
    conf: 'return 200 $remote_addr;',
    without: '200 127.0.0.1',
    with: `200 ${CLIENT}`,
  },
  {
    header: 'X-My-Client',
    value: CLIENT,
    decides: 'the address of real_ip by a name of its own',
    http: `${REAL_IP} X-My-Client;`,
    conf: 'return 200 $remote_addr;',
    without: '200 127.0.0.1',
    with: `200 ${CLIENT}`,
  },
  {
    header: 'X-Forwarded-For',
    value: CLIENT,
    decides: 'geo behind a proxy',
    http: `geo $place { proxy 127.0.0.1; default out; ${CLIENT} in; }`,
    conf: 'return 200 $place;',
    without: '200 out',
    with: '200 in',
  },
  {
    header: 'X-Forwarded-For',
    value: CLIENT,
    decides: 'a map of $http_x_forwarded_for',
    http: `map $http_x_forwarded_for $mapped { default out; ${CLIENT} in; }`,
    conf: 'return 200 $mapped;',
    without: '200 out',
    with: '200 in',
  },
  {
    header: 'X-Forwarded-For',
    value: CLIENT,
    decides: '$proxy_add_x_forwarded_for',
    conf: 'return 200 $proxy_add_x_forwarded_for;',
    without: '200 127.0.0.1',
    with: `200 ${CLIENT}, 127.0.0.1`,
  },
  {
    header: 'User-Agent',
    value: AGENT,
    decides: '$http_user_agent',
    conf: 'return 200 "[$http_user_agent]";',
    without: '200 []',
    with: `200 [${AGENT}]`,
  },
  {
    header: 'If-None-Match',
    value: '*',
    decides: 'a condition of a file',
    conf: 'root .;',
    without: '200 ',
    with: '304 ',
  },
  {
    header: 'If-Modified-Since',
    value: DATE,
    decides: 'the date of a file',
    conf: 'if_modified_since before; root .;',
    without: '200 ',
    with: '304 ',
  },
  {
    header: 'Content-Type',
    value: 'application/json',
    decides: 'the form of an event',
    conf: EVENTS,
    init: { method: 'POST', body: JSON_BODY },
    without: '415 ',
    with: '200 ',
  },
  {
    header: 'X-Publish-Key',
    value: 'secret',
    decides: 'who publishes',
    conf: `${EVENTS} worker_events_publish_key secret;`,
    init: { method: 'POST', body: JSON_BODY, headers: { 'Content-Type': 'application/json' } },
    without: '401 ',
    with: '200 ',
  },
];

const transports: readonly { over: string; http: string; ask: typeof call }[] = [
  { over: 'HTTP/1', http: '', ask: call },
  { over: 'HTTP/2', http: 'http2 on;', ask: callHttp2 as typeof call },
];

for (const { over, http: transport, ask } of transports) {
  for (const { header, value, decides, conf, http = '', init = {}, ...expected } of cases) {
    const other = header.replaceAll('-', '_');
    test(`${header} decides ${decides} over ${over}, and ${other} does not`, async (t) => {
      const server = `server { location / { ${conf} } }`;
      const gw = await load(t, `underscores_in_headers on; ${transport} ${http} ${server}`, { page: '' });
      const seen = async (name?: string): Promise<string> => {
        const headers = { ...init.headers, ...(name !== undefined && { [name]: value }) };
        return outcome(await ask(gw.port, '/page', { ...init, headers }), expected.with);
      };
      expect([await seen(), await seen(other), await seen(header)]).toEqual([
        expected.without,
        expected.without,
        expected.with,
      ]);
    });
  }
}

/** `STATUS body`, the body only where the case tells it. */
function outcome({ status, body }: ReceivedResponse, shown: string): string {
  return `${status} ${shown.length > 4 ? body : ''}`;
}

const both: readonly { it: string; sent: readonly string[]; got: string }[] = [
  { it: 'a name with underscores alone', sent: ['X_Forwarded_For', 'a'], got: 'a' },
  { it: 'the exact name alone', sent: ['X-Forwarded-For', 'a'], got: 'a' },
  { it: 'the exact name of two', sent: ['X-Forwarded-For', 'a', 'X_Forwarded_For', 'b'], got: 'a' },
  { it: 'the exact name behind another', sent: ['X_Forwarded_For', 'b', 'X-Forwarded-For', 'a'], got: 'a' },
  {
    it: 'both lines of the exact name',
    sent: ['X-Forwarded-For', 'a', 'X_Forwarded-For', 'b', 'X-Forwarded-For', 'c'],
    got: 'a, c',
  },
];

for (const protocol of ['fastcgi', 'uwsgi', 'scgi'] as const) {
  for (const { it, sent, got } of both) {
    test(`a program behind ${protocol} gets ${it}`, async (t) => {
      const program = await startProgram(t, protocol, () => [
        'Status: 200 OK\r\nContent-Length: 2\r\n\r\nok',
      ]);
      const gw = await load(
        t,
        `underscores_in_headers on; server { location / { ${protocol}_pass 127.0.0.1:${program.port}; } }`,
      );
      const headers: Record<string, string[]> = {};
      for (let at = 0; at < sent.length; at += 2) (headers[sent[at] ?? ''] ??= []).push(sent[at + 1] ?? '');
      await call(gw.port, '/', { headers });
      const params = program.heard().flatMap((request) => request.params);
      expect(params.filter(([name]) => name === 'HTTP_X_FORWARDED_FOR')).toEqual([
        ['HTTP_X_FORWARDED_FOR', got],
      ]);
    });
  }
}
