import type { IncomingHttpHeaders } from 'node:http2';
import { expect, test } from 'vitest';
import { oneGateway, type Owner } from '../../harness/gateway.ts';
import { openHttp2 } from '../../harness/http2-client.ts';
import { startHttp2 } from '../../harness/http2-upstream.ts';
import { connectRaw } from '../../harness/raw.ts';
import { readScripts, startScriptedUpstream } from '../../harness/scripted-upstream.ts';

const load = oneGateway();

const HINTS = 'HTTP/1.1 103 Early Hints\\r\\nLink: </a.css>\\r\\nX-Own: 1\\r\\nX-Hidden: 1\\r\\n';
const REST = 'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nLink: </a.css>\\r\\n\\r\\nok';

const SCRIPTS = readScripts(`
hints: "${HINTS}Connection: close\\r\\nServer: up\\r\\nContent-Length: 7\\r\\nLink: </b.css>\\r\\n\\r\\n" <pause> "${REST}"
two: "${HINTS}\\r\\n${HINTS}\\r\\n${REST}"
others: "HTTP/1.1 102 Processing\\r\\nX-Own: 1\\r\\n\\r\\n${REST}"
broken: "HTTP/1.1 103 Early Hints\\r\\nLink: a\\u0001b\\r\\n\\r\\n${REST}"
failed: "${HINTS}\\r\\n" <close>
flood: "${`${HINTS}\\r\\n`.repeat(17)}${REST}"
`);

/** A gateway that speaks HTTP/1.1 and HTTP/2, in front of an upstream that hints; it passes hints on if `?hints` is given. */
async function startHinting(t: Owner): Promise<number> {
  const { port } = await startScriptedUpstream(t, SCRIPTS);
  const second = await startHttp2(t, (stream) => {
    stream.additionalHeaders({ ':status': 103, link: '</a.css>', 'x-own': '1', 'x-hidden': '1' });
    stream.respond({ ':status': 200 });
    stream.end('ok');
  });
  const gw = await load(
    t,
    `server {
       http2 on; early_hints $arg_hints $http_x_hints;
       location / { proxy_hide_header X-Hidden; proxy_pass http://127.0.0.1:${port}; }
       location /second { proxy_hide_header X-Hidden; proxy_http_version 2; proxy_pass http://127.0.0.1:${second.port}; }
       location /off { early_hints ""; proxy_pass http://127.0.0.1:${port}; }
     }`,
  );
  return gw.port;
}

/** The heads of a response over HTTP/1, without `Server` and `Date`, and its body. */
async function heads(
  port: number,
  target: string,
  { version = '1.1', headers = '' } = {},
): Promise<string[]> {
  const client = await connectRaw(port);
  client.write(`GET ${target} HTTP/${version}\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`);
  const text = await client.closed;
  const kept = text.replaceAll(/^(?:Server: gw.*|Date: .*|Connection: close)\r\n/gm, '');
  return kept.split('\r\n\r\n').map((head) => head.replaceAll('\r\n', ' | '));
}

const OK = ['HTTP/1.1 200 OK | Content-Length: 2 | Link: </a.css>', 'ok'];
const HINT = 'HTTP/1.1 103 Early Hints | Link: </a.css> | X-Own: 1';
const SECOND = ['HTTP/1.1 103 Early Hints | link: </a.css> | x-own: 1', 'HTTP/1.1 200 OK'];

const cases: readonly {
  it: string;
  target: string;
  version?: string;
  headers?: string;
  seen: readonly unknown[];
}[] = [
  {
    it: 'is passed on at once, without hidden headers and those of the hop',
    target: '/~hints?hints=1',
    seen: [`${HINT} | Link: </b.css>`, ...OK],
  },
  { it: 'comes as often as the upstream sends it', target: '/~two?hints=yes', seen: [HINT, HINT, ...OK] },
  { it: 'of an upstream with HTTP/2 is passed on', target: '/second?hints=1', seen: SECOND },
  {
    it: 'is requested by any of the values',
    target: '/~two',
    headers: 'X-Hints: 1\r\n',
    seen: [HINT, HINT, ...OK],
  },
  { it: 'is not passed on if all values are empty', target: '/~hints', seen: OK },
  { it: 'is not passed on for 0', target: '/~hints?hints=0', seen: OK },
  { it: 'is not passed on where an inner block says so', target: '/off/~hints?hints=1', seen: OK },
  { it: 'never goes to HTTP/1.0', target: '/~hints?hints=1', version: '1.0', seen: OK },
  { it: 'is the only interim response that is passed on', target: '/~others?hints=1', seen: OK },
  {
    it: 'without a response after it is followed by an error',
    target: '/~failed?hints=1',
    seen: [HINT, expect.stringMatching(/^HTTP\/1.1 502 /), expect.anything()],
  },
  { it: 'without a header that can be passed on is not sent', target: '/~broken?hints=1', seen: OK },
  {
    it: 'that comes too often fails the request',
    target: '/~flood?hints=1',
    seen: [
      ...Array.from({ length: 16 }, () => HINT),
      expect.stringMatching(/^HTTP\/1.1 502 /),
      expect.anything(),
    ],
  },
];

for (const { it, target, seen, ...request } of cases) {
  test(`a 103 ${it}`, async (t) => {
    const port = await startHinting(t);
    const received = await heads(port, target, request);
    expect(received.slice(0, seen.length)).toEqual(
      seen.map((part) =>
        typeof part === 'string' && part.endsWith('200 OK') ? expect.stringContaining(part) : part,
      ),
    );
  });
}

for (const target of ['/~hints?hints=1', '/second?hints=1']) {
  test(`a 103 reaches clients with HTTP/2: ${target}`, async (t) => {
    const session = openHttp2(await startHinting(t));
    t.onTestFinished(() => session.destroy());
    const stream = session.request({ ':path': target, ':authority': 'a' });
    const seen: IncomingHttpHeaders[] = [];
    stream.on('headers', (fields) => seen.push(Object.fromEntries(Object.entries(fields))));
    const status = await new Promise((resolve) =>
      stream.on('response', (fields) => resolve(fields[':status'])),
    );
    stream.resume();
    expect(status).toBe(200);
    expect(seen).toEqual([{ ':status': 103, link: expect.stringContaining('</a.css>'), 'x-own': '1' }]);
  });
}
