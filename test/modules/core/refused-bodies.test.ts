import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { ON_NODE_ENGINE } from '../../harness/engine.ts';
import { oneGateway } from '../../harness/gateway.ts';
import { startPeer } from '../../harness/peer.ts';

const load = oneGateway();

const HEAD = 'POST /in HTTP/1.1\r\nHost: a\r\n';
const refused: readonly { it: string; status: number; sent: string }[] = [
  { it: 'too large', status: 413, sent: `${HEAD}Content-Length: 20\r\n\r\n${'x'.repeat(20)}` },
  {
    it: 'too large in chunks',
    status: 413,
    sent: `${HEAD}Transfer-Encoding: chunked\r\n\r\n14\r\n${'x'.repeat(20)}\r\n0\r\n\r\n`,
  },
  { it: 'never complete', status: 408, sent: `${HEAD}Content-Length: 5\r\n\r\nab` },
];
// uWebSockets.js itself responds to these requests.
const broken: typeof refused = [
  { it: 'broken from its start', status: 400, sent: `${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n` },
];

for (const { it, status, sent } of ON_NODE_ENGINE ? [...refused, ...broken] : refused) {
  test(`an error page from an upstream does not wait for a body that is ${it}`, async (t) => {
    const peer = await startPeer(t, 'page', (_, response) => setTimeout(() => response.end('page'), 50));
    const gw = await load(
      t,
      `client_body_timeout 300ms; client_max_body_size 10; lingering_close off;
       server {
         error_page 400 408 413 /page;
         location /in { proxy_pass http://127.0.0.1:${peer.port}; }
         location /page { proxy_pass http://127.0.0.1:${peer.port}; }
       }`,
    );
    const client = await gw.connect();
    client.write(sent);
    expect(await client.until(/page$/)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    client.destroy();
    expect(peer.requests).toEqual(['GET /page']);
  });
}

test.runIf(ON_NODE_ENGINE)(
  'a body that breaks its framing later gets the error page of its location',
  async (t) => {
    const peer = await startPeer(t, 'page');
    const gw = await load(
      t,
      `server { error_page 400 /page; location / { proxy_pass http://127.0.0.1:${peer.port}; } }`,
    );
    const client = await gw.connect();
    client.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.write('5\r\nhelloXX');
    expect(await client.closed).toMatch(/^HTTP\/1\.1 400 [^]*page$/);
  },
);

for (const directives of ['return 200 page;', 'root .;', 'client_max_body_size 10; root .;']) {
  test(`a client that wants its connection closed can send its body to the end, in spite of ${directives}`, async (t) => {
    const gw = await load(t, `server { location /in { ${directives} } location /next { return 200; } }`, {
      in: 'page',
    });
    // The gateway may say at once that nothing follows its response; a reset is what would lose the response.
    const client = connect({ port: gw.port, host: '127.0.0.1', allowHalfOpen: true });
    t.onTestFinished(() => void client.destroy());
    const failed = new Promise((_, reject) => client.on('error', reject));
    client.write(`${HEAD}Connection: close\r\nContent-Length: 20\r\n\r\n`);
    await once(client, 'data');
    const ended = once(client, 'end');
    for (let nth = 0; nth < 20; nth += 1) {
      await gw.expect('GET /next', { status: 200 });
      client.write('x');
    }
    await Promise.race([ended, failed]);
  });
}
