import { once } from 'node:events';
import { beforeAll, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { ON_NODE_ENGINE } from '../harness/engine.ts';
import { type Gateway, type Owner, startGateway } from '../harness/gateway.ts';
import { callOn, openHttp2 } from '../harness/http2-client.ts';
import { END_STREAM, fieldBlock } from '../harness/http2-frames.ts';
import { head, part, startRawHttp2, trailersOf } from '../harness/http2-upstream.ts';
import { wholeFile } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';
import { type Calls, expectCalls, FORWARDED_ON_NODE, skipUntraced, TIMES } from './counted.ts';
import { whyNotTraced } from './strace.ts';

const WARM_UP = 60;
const MESSAGE = Buffer.from([0, 0, 0, 0, 5, ...Buffer.from('hello')]);

/** A server of gRPC that sends each response in one piece: a real one takes one to four, as its machine is busy. */
async function startCalls(t: Owner): Promise<number> {
  const response = (id: number): Buffer =>
    Buffer.concat([
      head(fieldBlock([['content-type', 'application/grpc']]))(id),
      part(MESSAGE.toString('latin1'))(id),
      trailersOf([fieldBlock([['grpc-status', '0']])])(id),
    ]);
  const { port } = await startRawHttp2(t, (socket, { flags, stream }) => {
    if (stream !== 0 && (flags & END_STREAM) !== 0) socket.write(response(stream));
  });
  return port;
}

async function startEcho(t: Owner): Promise<number> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  server.on('connection', (client) => client.on('message', (data) => client.send(data)));
  t.onTestFinished(async () => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

/** Opens what carries messages; what is returned sends one after the other, each when the one before has come back. */
type Open = (t: Owner, port: number) => Promise<(times: number) => Promise<void>>;

const openCalls: Open = async (t, port) => {
  const session = openHttp2(port);
  t.onTestFinished(async () => session.destroy());
  const headers = { 'content-type': 'application/grpc', te: 'trailers' };
  return async (times) => {
    for (let time = 0; time < times; time++) {
      const { trailers } = await callOn(session, '/s/m', { method: 'POST', headers, body: MESSAGE });
      if (trailers['grpc-status'] !== '0') throw new Error(JSON.stringify(trailers));
    }
  };
};

const openSocket: Open = async (t, port) => {
  const client = new WebSocket(`ws://127.0.0.1:${port}/`);
  t.onTestFinished(async () => client.terminate());
  await once(client, 'open');
  return async (times) => {
    for (let time = 0; time < times; time++) {
      client.send('a message');
      await once(client, 'message');
    }
  };
};

const cases: readonly { it: string; on: string; open: Open; calls: Calls }[] = [
  // The trailers go to the client behind the message: Node.js asks for them when it has sent it.
  { it: 'a unary call of gRPC', on: 'calls', open: openCalls, calls: { receive: 2, send: 3 } },
  { it: 'a message of a WebSocket', on: 'uws', open: openSocket, calls: FORWARDED_ON_NODE },
  {
    it: 'a message of a WebSocket on the node engine',
    on: 'node',
    open: openSocket,
    calls: FORWARDED_ON_NODE,
  },
];

const file = wholeFile();
let gw: Gateway;
let ports: Record<string, number>;
let untraced: string | undefined;
beforeAll(async () => {
  const [calls, echo] = [await startCalls(file), await startEcho(file)];
  ports = { calls: await freePort(), uws: await freePort(), node: await freePort() };
  const sockets = `proxy_pass http://127.0.0.1:${echo}; proxy_http_version 1.1;
    proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;`;
  gw = await startGateway(
    file,
    `access_log off; upstream calls { server 127.0.0.1:${calls}; keepalive 4; }
     server { listen 127.0.0.1:${ports['calls']} http2; location / { grpc_pass calls; } }
     server { listen 127.0.0.1:${ports['uws']} ${ON_NODE_ENGINE ? '' : 'engine=uws'};
       listen 127.0.0.1:${ports['node']} engine=node; location / { ${sockets} } }`,
  );
  untraced = await whyNotTraced(gw.pid);
});

for (const { it, on, open, calls } of cases) {
  test(`${it} takes no more system calls than it must`, async (t) => {
    skipUntraced(t, untraced);
    const send = await open(t, ports[on] as number);
    await send(WARM_UP);
    await expectCalls(gw.pid, () => send(TIMES), calls);
  });
}
