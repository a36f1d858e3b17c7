import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';
import type { Gateway, Owner } from '../harness/gateway.ts';
import { freePort } from '../harness/ports.ts';
import { startSupervised } from './processes.ts';

/** Other systems do not tell what engines have still to send. */
const ON_LINUX = process.platform === 'linux';

const BODY_BYTES = 60_000;
/** On a Unix socket, uWebSockets.js takes responses up to 8 KB as a whole, and no request behind a larger one. */
const SMALL_BODY_BYTES = 8_000;
const bodyBytesOf = (kind: string): number => (kind === 'uws-unix' ? SMALL_BODY_BYTES : BODY_BYTES);
/** More than the kernel keeps for a client: some 4 MB of a TCP connection, 200 KB of a Unix socket. */
const REQUESTS = { tcp: 150, unix: 90 };
/** Longer than kept-alive clients have for their last request; then connections used to be closed. */
const LATE_MS = 600;

/** A client that reads nothing until it is told to. */
interface Client {
  readonly name: string;
  readonly socket: Socket;
}

const KINDS = ['uws', 'node', 'uws-unix', 'node-unix', ...(HAS_OPENSSL ? ['uws-tls', 'node-tls'] : [])];

interface Started {
  readonly gw: Gateway;
  readonly ports: readonly number[];
}

async function start(t: Owner): Promise<Started> {
  const ports: number[] = [];
  for (const _ of KINDS) ports.push(await freePort());
  const certificates = new Certificates();
  t.onTestFinished(async () => rmSync(certificates.dir, { recursive: true }));
  let tls = '';
  if (HAS_OPENSSL) {
    certificates.authority('a.test');
    tls = `ssl_certificate ${certificates.path('a.test.crt')}; ssl_certificate_key ${certificates.path('a.test.key')};`;
  }
  const servers = KINDS.map((kind, index) => {
    const [engine, more] = kind.split('-');
    const address = more === 'unix' ? `unix:${kind}.sock` : `127.0.0.1:${ports[index]}`;
    return `server { listen ${address} ${more === 'tls' ? 'ssl' : ''} engine=${engine}; ${tls} location / { root .; } }`;
  });
  const files = Object.fromEntries(KINDS.map((kind) => [kind, 'x'.repeat(bodyBytesOf(kind))]));
  const gw = await startSupervised(t, servers.join('\n'), { files });
  return { gw, ports };
}

/** Connects to each port, and sends requests until the gateway has more responses than the kernel takes. */
function connectAll(t: Owner, started: Started): Promise<readonly Client[]> {
  return Promise.all(KINDS.map((_, index) => connectTo(t, started, index)));
}

async function connectTo(t: Owner, { gw, ports }: Started, index: number): Promise<Client> {
  const name = KINDS[index] as string;
  const [engine, more = 'tcp'] = name.split('-');
  const to = { port: ports[index] as number, host: '127.0.0.1' };
  const [socket, opened] =
    more === 'tls'
      ? [connectTls({ ...to, rejectUnauthorized: false }), 'secureConnect']
      : [more === 'unix' ? connect(`${gw.dir}/${name}.sock`) : connect(to), 'connect'];
  t.onTestFinished(async () => void socket.destroy());
  await once(socket, opened);
  const count = more === 'unix' ? REQUESTS.unix : REQUESTS.tcp;
  socket.write(`GET /${name} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(count));
  // The node engine takes the next request when the responses before it are sent.
  await expect.poll(() => logged(gw, name)).toBeGreaterThanOrEqual(engine === 'uws' ? count : 1);
  return { name, socket };
}

const logged = (gw: Gateway, name: string): number =>
  gw.accessLog().match(new RegExp(`GET /${name} HTTP/1.1" 200 ${bodyBytesOf(name)}`, 'g'))?.length ?? 0;

/** Reads until the gateway closes; returns the number of bodies, with the part of one that is missing. */
async function bodies({ name, socket }: Client): Promise<number> {
  let text = '';
  socket.on('error', () => undefined);
  for await (const piece of socket.setEncoding('latin1')) text += piece;
  return text.replaceAll(/HTTP\/1\.1 [^]*?\r\n\r\n/g, '').length / bodyBytesOf(name);
}

async function expectAllSent(gw: Gateway, clients: readonly Client[]): Promise<void> {
  const received = await Promise.all(clients.map(async (each) => [each.name, await bodies(each)] as const));
  expect(received).toEqual(clients.map(({ name }) => [name, logged(gw, name)]));
}

test.runIf(ON_LINUX)('SIGQUIT leaves no logged response in the buffers of an engine', async (t) => {
  const started = await start(t);
  const { gw } = started;
  const clients = await connectAll(t, started);
  gw.signal('SIGQUIT');
  await gw.waitForLog(/gracefully shutting down/);
  await delay(LATE_MS);
  await expectAllSent(gw, clients);
  await gw.ended();
});

test.runIf(ON_LINUX)('a reload without a port sends the rest of its responses', async (t) => {
  const started = await start(t);
  const { gw } = started;
  const clients = await connectAll(t, started);
  await gw.reload('server { location / { return 200; } }');
  await delay(LATE_MS);
  await expectAllSent(gw, clients);
});

test.runIf(ON_LINUX)('SIGTERM does not wait for clients that do not read', async (t) => {
  const started = await start(t);
  const { gw } = started;
  await connectAll(t, started);
  gw.signal('SIGQUIT');
  await gw.waitForLog(/gracefully shutting down/);
  await delay(LATE_MS);
  expect(gw.errorLog()).not.toMatch(/#0: exit$/m);
  gw.signal('SIGTERM');
  await gw.ended();
});
