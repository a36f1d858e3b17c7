import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';
import { connectRaw } from '../harness/raw.ts';

const ports = { uws: 0, node: 0 };
let gw: Gateway;

beforeAll(async () => {
  for (const engine of ['uws', 'node'] as const) ports[engine] = await freePort();
  gw = await startGateway(
    wholeFile(),
    `log_format seen '$remote_addr "$request" $status $uri';
     access_log access.log seen;
     server {
       listen 127.0.0.1:${ports.uws} engine=uws; listen 127.0.0.1:${ports.node} engine=node;
       location = /metrics { control_api metrics; }
       location / { return 200 ok; }
     }`,
    { port: ports.uws },
  );
});

/** What the connection received once the gateway has closed it. */
async function responseTo(port: number, bytes: string): Promise<string> {
  const connection = await connectRaw(port);
  connection.write(bytes);
  return connection.closed;
}

async function unread(): Promise<number> {
  const { body } = await gw.fetch('/metrics');
  return Number(/^gw_connections_unread_total\{end="closed"\} (\d+)$/m.exec(body)?.[1] ?? 0);
}

/** Requests that uWebSockets.js refuses before our code knows of them. */
const unreadable = [
  { bytes: 'GET /1.0 HTTP/1.0\r\nHost: a\r\n\r\n', status: 505, node: '"GET /1.0 HTTP/1.0" 200 /1.0' },
  { bytes: 'GET /3.0 HTTP/3.0\r\nHost: a\r\n\r\n', status: 505, node: '"GET /3.0 HTTP/3.0" 505 -' },
  { bytes: 'GET /two\r\n', status: 505, node: '"GET /two" 200 /two' },
  {
    bytes: 'GET http://a/absolute?b HTTP/1.1\r\nHost: x\r\n\r\n',
    status: 505,
    node: '"GET http://a/absolute?b HTTP/1.1" 200 /absolute',
  },
  { bytes: 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', status: 505, node: '"OPTIONS * HTTP/1.1" 400 -' },
  { bytes: 'G\x01T / HTTP/1.1\r\n\r\n', status: 505, node: '"G\\x01T / HTTP/1.1" 400 -' },
  { bytes: '\x16\x03\x01\x02\x00\x01\r\n', status: 505, node: '"\\x16\\x03\\x01\\x02\\x00\\x01" 400 -' },
  { bytes: 'GET /none HTTP/1.1\r\n\r\n', status: 400, node: '"GET /none HTTP/1.1" 400 /none' },
  { bytes: 'GET /name HTTP/1.1\r\nHost : a\r\n\r\n', status: 400, node: '"GET /name HTTP/1.1" 400 /name' },
  {
    bytes: 'GET /both HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    status: 400,
    node: '"GET /both HTTP/1.1" 400 /both',
  },
  {
    bytes: `GET /many HTTP/1.1\r\nHost: a\r\n${'X: 1\r\n'.repeat(120)}\r\n`,
    status: 431,
    node: '"GET /many HTTP/1.1" 200 /many',
  },
];

for (const { bytes, status, node } of unreadable) {
  const what = JSON.stringify(bytes.slice(0, 24));
  test(`what uWebSockets.js refuses by itself is counted and logged with its address: ${what}`, async () => {
    const [before, from] = [await unread(), gw.errorLog().length];
    expect(await responseTo(ports.uws, bytes)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    await gw.waitForLog(
      /\[info\] .*client connection ended before a request: .*, client: 127\.0\.0\.1,/,
      from,
    );
    expect(await unread()).toBe(before + 1);
  });

  test(`the node engine logs the request line as received: ${what}`, async () => {
    const connection = await connectRaw(ports.node);
    connection.write(bytes);
    await connection.until(/ok$|<\/html>\r\n$/);
    connection.destroy();
    await expectLine(`127.0.0.1 ${node}`);
  });
}

/** What uWebSockets.js refuses after it has shown the head to our code. */
const halfRead = [
  { it: 'a length that is no number', head: 'Content-Length: x', body: 'abc' },
  { it: 'a negative length', head: 'Content-Length: -1', body: 'abc' },
  { it: 'a chunk without a size', head: 'Transfer-Encoding: chunked', body: 'zz\r\nabc\r\n0\r\n\r\n' },
];

for (const [at, { it, head, body }] of halfRead.entries()) {
  test(`a request with ${it} is logged with 400 and its address on both engines`, async () => {
    for (const [engine, port] of Object.entries(ports)) {
      const path = `/${engine}-${at}`;
      await responseTo(
        port,
        `POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${head}\r\n\r\n${body}`,
      );
      await expectLine(`127.0.0.1 "POST ${path} HTTP/1.1" 400 ${path}`);
    }
  });
}

test('the first connection that ends without a request is told once, as a warning', async () => {
  const told = /\[warn\] .*a client connection ended before a request: .*"http_engine node" reads and logs/g;
  for (let n = 0; n < 3; n++) await responseTo(ports.uws, 'GET / HTTP/1.0\r\n\r\n');
  await gw.waitForLog(told);
  expect(gw.errorLog().match(told)).toHaveLength(1);
});

test('a connection that was served is not counted, however it ends', async () => {
  const before = await unread();
  for (const rest of ['', 'GET / HTTP/1.0\r\n\r\n']) {
    const connection = await connectRaw(ports.uws);
    connection.write('GET /served HTTP/1.1\r\nHost: a\r\n\r\n');
    await connection.until(/ok$/);
    connection.write(rest);
    connection.end();
    await connection.closed;
  }
  expect(await unread()).toBe(before);
});

test('the log does not say what an engine drops that the configuration has chosen', () => {
  expect(gw.errorLog()).not.toContain('drops bytes');
});

/** Waits for a line of the access log that is exactly this one. */
async function expectLine(line: string): Promise<void> {
  const pattern = new RegExp(`^${line.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}$`, 'm');
  const [found] = await gw.waitForAccessLog(pattern);
  expect(found).toBe(line);
}
