import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { HAS_NGINX, startNginx } from '../../conformance/nginx.ts';
import { oneGateway, type Owner } from '../../harness/gateway.ts';
import { END_HEADERS, END_STREAM, FRAME, fieldBlock, frame } from '../../harness/http2-frames.ts';
import { startRawHttp2 } from '../../harness/http2-upstream.ts';
import { connectRaw, type RawConnection } from '../../harness/raw.ts';

const load = oneGateway();

/** A client that sends a body without its length. */
interface Sender {
  /** Sends two pieces at once. */
  readonly two: () => void;
  /** Sends a piece and the end. */
  readonly last: () => void;
  readonly leave: () => void;
}

function sendHttp1(client: RawConnection): Sender {
  client.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  return {
    two: () => client.write('3\r\nabc\r\n2\r\nde\r\n'),
    last: () => client.write('3\r\nfgh\r\n0\r\n\r\n'),
    leave: () => client.destroy(),
  };
}

const FIELDS = fieldBlock([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'a'],
]);

function sendHttp2(client: RawConnection): Sender {
  const data = (text: string, flags = 0): Buffer =>
    frame(FRAME.data, { flags, stream: 1, payload: Buffer.from(text) });
  client.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  client.write(frame(FRAME.settings));
  client.write(frame(FRAME.headers, { flags: END_HEADERS, stream: 1, payload: FIELDS }));
  return {
    two: () => client.write(Buffer.concat([data('abc'), data('de')])),
    last: () => client.write(data('fgh', END_STREAM)),
    leave: () => client.destroy(),
  };
}

const clients = [
  { from: 'HTTP/1.1', listen: '', send: sendHttp1 },
  { from: 'HTTP/1.1 on the node engine', listen: 'engine=node', send: sendHttp1 },
  { from: 'HTTP/2', listen: 'http2', send: sendHttp2 },
];

/** A peer that shows the received parts of a body, one line for each packet. */
interface Peer {
  readonly port: number;
  readonly packets: () => readonly string[];
}

async function startTcp(t: Owner, shown: (packet: Buffer) => string): Promise<Peer> {
  const packets: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => packets.push(shown(bytes)));
    socket.on('close', () => packets.push('closed'));
    t.onTestFinished(() => Promise.resolve(void socket.destroy()));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(() => Promise.resolve(void server.close()));
  return { port: (server.address() as AddressInfo).port, packets: () => packets };
}

/** Returns the contents of the STDIN records in a packet; the head has none. */
function stdin(packet: Buffer): string {
  const contents: string[] = [];
  for (let at = 0; at + 8 <= packet.length;) {
    const length = packet.readUInt16BE(at + 4);
    if (packet[at + 1] === 5) contents.push(packet.toString('latin1', at + 8, at + 8 + length));
    at += 8 + length + (packet[at + 6] as number);
  }
  return contents.length === 0 ? 'head' : contents.join('|');
}

/** Frames of streams; DATA is shown as its flags and its text. */
const SHOWN: ReadonlyMap<number, string | undefined> = new Map([
  [FRAME.headers, 'head'],
  [FRAME.data, undefined],
  [FRAME.reset, 'closed'],
]);

async function startFrames(t: Owner): Promise<Peer> {
  const { port, frames } = await startRawHttp2(t, () => undefined);
  const shown = (): string[] =>
    frames
      .filter(({ type, stream }) => stream > 0 && SHOWN.has(type))
      .map(({ type, flags, payload }) => SHOWN.get(type) ?? `${flags} ${String(payload)}`);
  return { port, packets: shown };
}

const peers = [
  {
    to: 'HTTP/1.1',
    location: 'proxy_request_buffering off; proxy_http_version 1.1; proxy_pass http://127.0.0.1:PEER;',
    start: (t: Owner) => startTcp(t, (packet) => (packet[0] === 80 ? 'head' : String(packet))),
    two: '5\r\nabcde\r\n',
    last: '3\r\nfgh\r\n0\r\n\r\n',
  },
  {
    to: 'FastCGI',
    location: 'fastcgi_request_buffering off; fastcgi_param A b; fastcgi_pass 127.0.0.1:PEER;',
    start: (t: Owner) => startTcp(t, stdin),
    two: 'abcde',
    last: 'fgh|',
  },
  {
    to: 'HTTP/2',
    location: 'proxy_request_buffering off; proxy_http_version 2; proxy_pass http://127.0.0.1:PEER;',
    start: startFrames,
    two: '0 abcde',
    last: '1 fgh',
  },
];

const loadGateway = async (t: Owner, http: string): Promise<number> => {
  const { port } = await load(t, (_, own) => http.replace('PORT', String(own)));
  return port;
};

const servers = [
  { name: 'gw', serve: loadGateway, clients, peers },
  // nginx 1.22 has no HTTP/2 without TLS beside HTTP/1.1, and none to its upstreams.
  ...(HAS_NGINX
    ? [{ name: 'nginx', serve: startNginx, clients: clients.slice(0, 1), peers: peers.slice(0, 2) }]
    : []),
];

const cases = servers.flatMap(({ name, serve, clients: from, peers: to }) =>
  from.flatMap((client) => to.map((peer) => ({ name, serve, ...client, ...peer }))),
);

for (const { name, serve, from, listen, send, to, location, start, two, last } of cases) {
  const begin = async (t: Owner): Promise<{ peer: Peer; sender: Sender }> => {
    const peer = await start(t);
    const port = await serve(
      t,
      `server { listen 127.0.0.1:PORT ${listen}; location / { ${location.replace('PEER', String(peer.port))} } }`,
    );
    const client = await connectRaw(port);
    t.onTestFinished(() => Promise.resolve(client.destroy()));
    return { peer, sender: send(client) };
  };

  test(`${name}: pieces of a body that come together over ${from} go on together to ${to}, the last with the end`, async (t) => {
    const { peer, sender } = await begin(t);
    await expect.poll(() => peer.packets()).toEqual(['head']);
    sender.two();
    await expect.poll(() => peer.packets()).toEqual(['head', two]);
    sender.last();
    await expect.poll(() => peer.packets()).toEqual(['head', two, last]);
  });

  test(`${name}: a body over ${from} that its client gives up is not ended for ${to}`, async (t) => {
    const { peer, sender } = await begin(t);
    await expect.poll(() => peer.packets()).toEqual(['head']);
    sender.two();
    await expect.poll(() => peer.packets()).toEqual(['head', two]);
    sender.leave();
    await expect.poll(() => peer.packets()).toEqual(['head', two, 'closed']);
  });
}
