import { afterAll, beforeAll, describe, test } from 'vitest';
import { startGateway, type Gateway } from '../../harness/gateway.ts';
import type { HostileCase } from './case.ts';
import { hostileCases } from './cases.ts';
import { splitResponses } from './responses.ts';

const CONF = `
  server {
    location / { return 200 "uri=$uri args=$args host=$host"; }
    location /none { return 204; }
    location /moved/ { add_header X-Uri $uri; return 302 /to$uri; }
    location /header { add_header X-N $arg_n; return 200; }
    location ~ ^/to/(.*)$ { return 302 /$1; }
  }
  server { server_name b.example; return 200 "server b"; }`;

const PROBE = 'GET /probe HTTP/1.1\r\nHost: a.example\r\n\r\n';
const PROBED = /uri=\/probe args= host=a\.example$/;

let gw: Gateway;
beforeAll(async () => {
  gw = await startGateway({ onTestFinished: afterAll }, CONF);
});

/**
 * Everything that the connection received. A last good request follows: it gets a response on an open connection, and none
 * on a closing one. It is sent after the last response, because behind a pending one it would close any connection.
 */
async function converse({ send, statuses, then }: HostileCase): Promise<string> {
  const connection = await gw.connect();
  connection.write(send);
  if (statuses.length > 0) {
    const heads = `(?:HTTP/1\\.1 \\d{3} [^]*?\\r\\n\\r\\n[^]*?){${statuses.length}}`;
    await connection.until(new RegExp(heads));
    connection.write(PROBE);
  }
  if (then === 'closed') return connection.closed;
  await connection.until(PROBED);
  connection.destroy();
  return connection.received();
}

// Concurrent, because uWebSockets.js waits long before it gives up on some of them.
describe.concurrent('the gateway', () => {
  test('guard 14: a body that is not read and that stops coming does not hold its connection', async ({
    expect,
  }) => {
    const connection = await gw.connect();
    connection.write('POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 500\r\n\r\n{');
    const received = splitResponses(await connection.closed);
    expect(received.map(({ status }) => status)).toEqual([200]);
  });

  for (const hostile of hostileCases) {
    const { guard, it, statuses, then, body = '', methods = statuses.map(() => 'GET') } = hostile;
    const after = then === 'open' ? ', and the connection stays in step' : ', and the connection closes';
    test(`guard ${guard}: ${it}${after}`, async ({ expect }) => {
      const received = splitResponses(await converse(hostile), methods);
      expect(received.map(({ status }) => status)).toEqual(then === 'open' ? [...statuses, 200] : statuses);
      if (body !== '') expect(received[0]?.body).toContain(body);
    });
  }
});
