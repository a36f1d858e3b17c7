import { mkdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import type { Gateway } from '../../harness/gateway.ts';
import { orderingConf, shownCertificate, startOrdering } from './ordering.ts';

const ISSUED = /of issuer "le": issued, valid until/;
const UWS = 'ssl engine=uws';

function renew(gw: Gateway, ...names: readonly string[]): void {
  mkdirSync(join(gw.dir, 'state', 'requests'), { recursive: true });
  for (const name of names) writeFileSync(join(gw.dir, 'state', 'requests', `renew-${name}`), '');
}

/** Resolves when a port shows another certificate for a name than before. */
async function nextCertificate(port: number, name: string, before: string | undefined): Promise<string> {
  let shown: string | undefined;
  await expect
    .poll(async () => (shown = (await shownCertificate(port, name))?.fingerprint256), { timeout: 20_000 })
    .not.toBeOneOf([before, undefined]);
  return shown ?? '';
}

async function opened(port: number, servername: string): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  return socket;
}

/** Sends a request on an open connection. Resolves with the start of the response. */
async function ask(socket: TLSSocket, host: string): Promise<string> {
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const [piece] = (await once(socket, 'data')) as [Buffer];
  return piece.toString();
}

test('a port of uWebSockets.js refuses handshakes until there is a certificate, then shows it in all workers without a reload', async (t) => {
  const { gw, authority, ports } = await startOrdering(t, {
    listen: UWS,
    workers: 2,
    prepare: (authorityOfTest) => (authorityOfTest.isAway = true),
  });
  await gw.waitForLog(/next try at/);
  expect(await shownCertificate(ports.tls, 'a.test')).toBeUndefined();
  authority.isAway = false;
  renew(gw, 'a.test');
  await gw.waitForLog(ISSUED);
  await nextCertificate(ports.tls, 'a.test', undefined);
  const inAllWorkers = async (): Promise<number> => {
    const shown = await Promise.all(Array.from({ length: 12 }, () => shownCertificate(ports.tls, 'a.test')));
    return shown.filter((one) => one?.subjectAltName === 'DNS:a.test').length;
  };
  await expect.poll(inAllWorkers).toBe(12);
  const socket = await opened(ports.tls, 'a.test');
  expect(await ask(socket, 'a.test')).toMatch(/^HTTP\/1\.1 200 /);
  socket.destroy();
});

test('a renewal on a port of uWebSockets.js fails no handshake, and open connections are served', async (t) => {
  const { gw, ports } = await startOrdering(t, {
    listen: UWS,
    http: `server { listen 127.0.0.1:TLS ${UWS}; server_name b.test *.b.test; acme_certificate le b.test c.b.test; return 200 b; }`,
  });
  await gw.waitForLog(new RegExp(`${ISSUED.source}[^]*${ISSUED.source}`));
  const first = await nextCertificate(ports.tls, 'a.test', undefined);
  const other = await nextCertificate(ports.tls, 'b.test', undefined);
  expect((await shownCertificate(ports.tls, 'c.b.test'))?.fingerprint256).toBe(other);
  const before = await opened(ports.tls, 'b.test');
  let isOver = false;
  const counts = { good: 0, failed: 0 };
  const visits = ['a.test', 'b.test', 'c.b.test', ''].map(async (name) => {
    while (!isOver) {
      const shown = await shownCertificate(ports.tls, name);
      if (shown) counts.good++;
      else counts.failed++;
    }
  });
  let shown = first;
  for (let round = 0; round < 3; round++) {
    renew(gw, 'a.test');
    shown = await nextCertificate(ports.tls, 'a.test', shown);
  }
  isOver = true;
  await Promise.all(visits);
  expect(counts.failed).toBe(0);
  expect(counts.good).toBeGreaterThan(10);
  // It began when the first certificate was shown.
  expect(await ask(before, 'b.test')).toMatch(/^HTTP\/1\.1 200 [^]*b$/);
  expect((await shownCertificate(ports.tls, 'b.test'))?.fingerprint256).toBe(other);
  expect(gw.errorLog()).not.toMatch(/\[(?:error|crit|alert)\]/);
  before.destroy();
});

test('a reload keeps what a port of uWebSockets.js shows, and certificates go on to be renewed after it', async (t) => {
  const { gw, authority, ports } = await startOrdering(t, { listen: UWS });
  await gw.waitForLog(ISSUED);
  const first = await nextCertificate(ports.tls, 'a.test', undefined);
  await gw.reload(orderingConf(authority, ports, { listen: UWS })(gw.dir));
  expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).toBe(first);
  renew(gw, 'a.test');
  await nextCertificate(ports.tls, 'a.test', first);
});
