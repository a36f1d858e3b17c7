import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';
import { connectRaw } from '../harness/raw.ts';

const ports = { uws: 0, node: 0 };
const file = wholeFile();
let gw: Gateway;

beforeAll(async () => {
  for (const engine of ['uws', 'node'] as const) ports[engine] = await freePort();
  gw = await startGateway(
    file,
    `log_format seen '$request $status'; access_log access.log seen;
     server {
       listen 127.0.0.1:${ports.uws} engine=uws; listen 127.0.0.1:${ports.node} engine=node;
       location /limited { client_max_body_size 1m; echoz_read_request_body; echozn read; }
       location /small { client_max_body_size 8; echoz_read_request_body; echozn read; }
       location /paged { client_max_body_size 8; error_page 413 =200 /page; echoz_read_request_body; echozn read; }
       location /page { return 200; }
       location /whole { echoz_read_request_body; echozn read; }
       location /byte { echoz_read_request_body; echozn r; }
       location /pieces { echoz_read_request_body; echozn re; echoz_flush; echozn ad; }
       location /back { client_max_body_size 2m; echoz_request_body; }
       location /next { return 200 next; }
     }`,
    { port: ports.uws },
  );
});

const LAST = '0\r\n\r\n';
const LARGE = `${`10000\r\n${'a'.repeat(65_536)}\r\n`.repeat(16)}8\r\naaaaaaaa\r\n${LAST}`;
/** uWebSockets.js takes the letter for 16. */
const NO_SIZE = `G\r\n0123456789abcdef\r\n${LAST}`;
const SHORT = `4\r\nbody\r\n${LAST}`;

type Engine = keyof typeof ports;

const BOTH: readonly Engine[] = ['uws', 'node'];

interface Case {
  readonly it: string;
  readonly path: string;
  readonly body: string;
  /** The engines that close the connection behind the response. */
  readonly engines?: readonly Engine[];
}

/** Bodies without a plain length. The default engine always closes the connection behind them. */
const cases: readonly Case[] = [
  { it: 'a body that is too large', path: '/limited', body: LARGE },
  { it: 'a short body that is too large', path: '/small', body: `10\r\n0123456789abcdef\r\n${LAST}` },
  { it: 'a body without a size that is too large', path: '/small', body: NO_SIZE },
  { it: 'a body that is too large for a page without text', path: '/paged', body: LARGE },
  { it: 'a body without a size', path: '/whole', body: NO_SIZE },
  { it: 'a body that was read', path: '/whole', body: SHORT, engines: ['uws'] },
  { it: 'a body whose response is one byte', path: '/byte', body: SHORT, engines: ['uws'] },
  { it: 'a body whose response comes in pieces', path: '/pieces', body: SHORT, engines: ['uws'] },
  { it: 'a body that is sent back', path: '/back', body: LARGE, engines: ['uws'] },
];

const post = (path: string, more = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\n${more}Transfer-Encoding: chunked\r\n\r\n`;

for (const [index, { it, path, body, engines = BOTH }] of cases.entries()) {
  for (const engine of engines) {
    test(`nothing behind ${it} is served, on ${engine}`, async () => {
      const next = `/next/${engine}/${index}`;
      const rest = `${body}PATCH ${next} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}`;
      const atOnce = await connectRaw(ports[engine]);
      atOnce.write(post(path) + rest);
      await atOnce.closed;
      // The request is being served when its body comes.
      const inTwo = await connectRaw(ports[engine]);
      inTwo.write(post(path, 'Expect: 100-continue\r\n'));
      await inTwo.until(/100 Continue/);
      inTwo.write(rest);
      await inTwo.closed;
      await gw.fetch(`${next}/last`);
      await gw.waitForAccessLog(new RegExp(`${next}/last`));
      expect(gw.accessLog()).not.toContain(`PATCH ${next} `);
    });
  }
}
