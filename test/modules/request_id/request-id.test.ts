import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { callOn, openHttp2 } from '../../harness/http2-client.ts';
import { startPeer } from '../../harness/peer.ts';

const load = oneGateway();

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const SHOWN = 'return 200 $ngz_request_id;';

interface Case {
  readonly it: string;
  readonly conf: string;
  readonly sent?: Readonly<Record<string, string | string[]>>;
  /** The value of a header in the response; `null` for no header. */
  readonly header: readonly [name: string, value: string | RegExp | null];
  readonly body?: string | RegExp;
}

const cases: readonly Case[] = [
  { it: 'makes a UUID', conf: 'request_id_response on;', header: ['X-Request-ID', UUID], body: UUID },
  {
    it: 'passes on the id of the client, whatever the case of the header',
    conf: 'request_id_response on;',
    sent: { 'x-REQUEST-id': 'abc-1' },
    header: ['X-Request-ID', 'abc-1'],
    body: 'abc-1',
  },
  {
    it: 'uses another header',
    conf: 'request_id_header X-Trace;',
    sent: { 'X-Trace': 'abc-2', 'X-Request-ID': 'other' },
    header: ['X-Trace', 'abc-2'],
    body: 'abc-2',
  },
  {
    it: 'does not send the id to the client',
    conf: 'request_id_response off;',
    sent: { 'X-Request-ID': 'abc-3' },
    header: ['X-Request-ID', null],
    body: 'abc-3',
  },
  {
    it: 'replaces an id that is too long',
    conf: 'request_id_response on;',
    sent: { 'X-Request-ID': 'x'.repeat(129) },
    header: ['X-Request-ID', UUID],
    body: UUID,
  },
  {
    it: 'replaces an id with blanks',
    conf: 'request_id_response on;',
    sent: { 'X-Request-ID': 'a b' },
    header: ['X-Request-ID', UUID],
  },
  {
    it: 'replaces one of several ids',
    conf: 'request_id_response on;',
    sent: { 'X-Request-ID': ['a', 'b'] },
    header: ['X-Request-ID', UUID],
  },
  {
    it: 'keeps ids from a trusted network',
    conf: 'request_id_header X-Request-ID trust=10.0.0.0/8 trust=127.0.0.0/8;',
    sent: { 'X-Request-ID': 'abc-4' },
    header: ['X-Request-ID', 'abc-4'],
    body: 'abc-4',
  },
  {
    it: 'keeps no ids from elsewhere',
    conf: 'request_id_header X-Request-ID trust=10.0.0.0/8 trust=2001:db8::/32 trust=unix:;',
    sent: { 'X-Request-ID': 'abc-5' },
    header: ['X-Request-ID', UUID],
    body: UUID,
  },
  {
    it: 'trusts the connection, and not the address that a header claims',
    conf: 'set_real_ip_from 127.0.0.1; request_id_header X-Request-ID trust=10.1.2.3;',
    sent: { 'X-Request-ID': 'abc-6', 'X-Real-IP': '10.1.2.3' },
    header: ['X-Request-ID', UUID],
  },
  { it: 'has no id without its directives', conf: '', header: ['X-Request-ID', null], body: '' },
];
for (const { it, conf, sent = {}, header, body } of cases) {
  test(`request_id ${it}`, async (t) => {
    const gw = await load(t, `server { location / { ${conf} ${SHOWN} } }`);
    const expected = {
      status: 200,
      headers: { [header[0]]: header[1] },
      ...(body !== undefined && { body }),
    };
    const response = await gw.expect('GET /', expected, { headers: sent });
    if (header[1] !== null) expect(response.headers.get(header[0])).toBe(response.body);
  });
}

test('an id goes to the upstream, replaces its header, and is the same after an error page and in the log', async (t) => {
  const heard: unknown[] = [];
  const peer = await startPeer(t, 'peer', (request, response) => {
    heard.push(request.headers['x-request-id']);
    response.writeHead(404, { 'X-Request-ID': 'of the upstream' }).end();
  });
  const gw = await load(
    t,
    `log_format id "id=$ngz_request_id uri=$request_uri";
     server { access_log access.log id; request_id_response on; proxy_intercept_errors on; error_page 404 = @page;
       location / { proxy_set_header X-Request-ID $ngz_request_id; proxy_pass http://127.0.0.1:${peer.port}; }
       location @page { ${SHOWN} } }`,
  );
  const { body, headers } = await gw.fetch('/a');
  expect(body).toMatch(UUID);
  expect([heard, headers.get('x-request-id')]).toEqual([[body], body]);
  expect(await gw.waitForAccessLog(/id=(\S+) uri=\/a/)).toMatchObject({ 1: body });
});

test('an id is in the response of HTTP/2, and two requests have different ids', async (t) => {
  const gw = await load(t, `server { http2 on; location / { request_id_response on; ${SHOWN} } }`);
  const session = openHttp2(gw.port);
  const [one, two] = [await callOn(session, '/'), await callOn(session, '/')];
  session.close();
  expect([one.headers.get('x-request-id'), two.headers.get('x-request-id')]).toEqual([one.body, two.body]);
  expect(one.body).not.toBe(two.body);
});
