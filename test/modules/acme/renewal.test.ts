import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, test } from 'vitest';
import { Certificates } from '../../harness/certificates.ts';
import { freePort } from '../../harness/ports.ts';
import { authorityAt, orderingConf, shownCertificate, startOrdering } from './ordering.ts';

const ISSUED = /certificate "a\.test" of issuer "le": issued, valid until/;
const HOUR_MS = 3_600_000;

test('a certificate with little life left is renewed, and the old one serves until then', async (t) => {
  const { gw, authority, ports } = await startOrdering(t, {
    authority: { hasRenewalInfo: false },
    // Begun an hour ago, so that more than half of its life is over.
    prepare: ({ certifier }) => (certifier.lifetimeMs = HOUR_MS / 2),
  });
  await gw.waitForLog(ISSUED);
  const first = await shownCertificate(ports.tls, 'a.test');
  authority.certifier.lifetimeMs = 90 * 24 * HOUR_MS;
  await gw.waitForLog(new RegExp(`${ISSUED.source}[^]*${ISSUED.source}[^\\n]*next order at 20`));
  const second = await shownCertificate(ports.tls, 'a.test');
  expect(first).toBeDefined();
  expect(second?.fingerprint256).not.toBe(first?.fingerprint256);
  expect(new Set(authority.orders.map(({ account }) => account.url)).size).toBe(1);
});

test('a renewal says which certificate it replaces, when the window of the authority is over', async (t) => {
  const { gw, authority } = await startOrdering(t, {
    prepare: (opened) => (opened.window = { startMs: Date.now() - HOUR_MS, endMs: Date.now() - HOUR_MS / 2 }),
  });
  await gw.waitForLog(ISSUED);
  const [first] = authority.issued;
  await gw.waitForLog(/the authority wants it renewed now/);
  authority.window = undefined;
  await gw.waitForLog(new RegExp(`${ISSUED.source}[^]*${ISSUED.source}`));
  expect(authority.orders.at(-1)?.replaces).toBe(first?.id);
});

test('a window that stays in the past renews once, and then after a pause', async (t) => {
  const { gw, authority } = await startOrdering(t, {
    http: 'server { location /certificates { control_api certificates; } }',
    prepare: (opened) => (opened.window = { startMs: Date.now() - HOUR_MS, endMs: Date.now() - HOUR_MS / 2 }),
  });
  await gw.waitForLog(new RegExp(`${ISSUED.source}[^]*${ISSUED.source}`));
  const tookMs = Date.now();
  const nextMs = async (): Promise<number> => {
    const { body } = await gw.fetch('/certificates');
    const { certificates } = JSON.parse(body) as { certificates: readonly { next_order: string }[] };
    return Date.parse(certificates[0]?.next_order ?? '') - tookMs;
  };
  // Not two thirds of its life, but a minute.
  const isPaused = async (): Promise<boolean> => {
    const ms = await nextMs();
    return ms > 50_000 && ms < 61_000;
  };
  await expect.poll(isPaused, { timeout: 15_000 }).toBe(true);
  expect(authority.issued).toHaveLength(2);
});

test('a certificate that is valid later does not take the place of one that is valid now', async (t) => {
  const { gw, authority, ports } = await startOrdering(t);
  await gw.waitForLog(ISSUED);
  const before = await shownCertificate(ports.tls, 'a.test');
  authority.certifier.chain = 'future';
  gw.lay({ 'state/requests/renew-a.test': '' });
  await gw.waitForLog(/cannot serve: it is not valid before [^,]*, and the present one is valid now, or/);
  expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).toBe(before?.fingerprint256);
});

const requests = [
  { it: 'renewed', name: 'renew-a.test', says: /an operator wants it renewed/ },
  {
    it: 'ordered anew after it was revoked',
    name: 'revoked-a.test',
    says: /it was revoked, and is ordered anew/,
  },
];
for (const { it, name, says } of requests)
  test(`a certificate is ${it} when a request is in the directory`, async (t) => {
    const { gw, ports } = await startOrdering(t);
    await gw.waitForLog(ISSUED);
    const before = await shownCertificate(ports.tls, 'a.test');
    const from = gw.errorLog().length;
    mkdirSync(join(gw.dir, 'state', 'requests'), { recursive: true });
    writeFileSync(join(gw.dir, 'state', 'requests', name), '');
    await gw.waitForLog(says, from);
    await gw.waitForLog(ISSUED, from);
    expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).not.toBe(before?.fingerprint256);
  });

test('an issuer that moves to another authority orders anew, and the certificate serves until then', async (t) => {
  const { gw, authority, ports } = await startOrdering(t);
  await gw.waitForLog(ISSUED);
  const staged = await shownCertificate(ports.tls, 'a.test');
  const other = await authorityAt(t, ports);
  const hold = other.hold('newOrder');
  const from = gw.errorLog().length;
  expect(await gw.reload(orderingConf(other, ports, {})(gw.dir))).toBe('done');
  await gw.waitForLog(new RegExp(`it comes from ${authority.base}/directory, and is ordered anew`), from);
  expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).toBe(staged?.fingerprint256);
  hold.release();
  await gw.waitForLog(ISSUED, from);
  expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).not.toBe(staged?.fingerprint256);
  expect([authority.issued.length, other.issued.length]).toEqual([1, 1]);
});

test('a pause after failures is kept over a restart', async (t) => {
  const { gw, authority } = await startOrdering(t, {
    prepare: (opened) => opened.fail('newOrder', { problem: 'rejectedIdentifier' }, 100),
  });
  await gw.waitForLog(/next try at/);
  await gw.stop();
  authority.behave();
  const asked = authority.asked.length;
  const from = gw.errorLog().length;
  gw.start();
  await gw.waitForLog(/start worker processes/, from);
  const state = JSON.parse(
    readFileSync(join(gw.dir, 'state', 'certificates', 'a.test', 'state.json'), 'utf8'),
  ) as {
    attempts: { failures: number };
  };
  expect(state.attempts.failures).toBe(1);
  expect(authority.asked).toHaveLength(asked);
});

test('metrics and the control API show certificates of files and those that are ordered', async (t) => {
  const files = new Certificates();
  files.authority('ca');
  files.signed('file.test', 'ca', { days: 30 });
  const { gw } = await startOrdering(t, {
    http: `server { location /certificates { control_api certificates; } location /metrics { control_api metrics; } }
      server { listen 127.0.0.1:${await freePort()} ssl; ssl_certificate file.crt; ssl_certificate_key file.key; }`,
    files: { 'file.crt': files.read('file.test.crt'), 'file.key': files.read('file.test.key') },
  });
  await gw.waitForLog(ISSUED);
  const shown = async (): Promise<unknown> => {
    const { body } = await gw.fetch('/certificates');
    return (JSON.parse(body) as { certificates: unknown }).certificates;
  };
  await expect.poll(shown).toEqual([
    { name: 'file.crt', state: 'valid', not_after: expect.any(String) as string },
    {
      name: 'a.test',
      issuer: 'le',
      state: 'valid',
      not_after: expect.any(String) as string,
      ordering: false,
      next_order: expect.any(String) as string,
      failures: 0,
      fault: null,
    },
  ]);
  const metrics = (await gw.fetch('/metrics')).body;
  const daysOf = (name: string): number => {
    const [, seconds] =
      new RegExp(`gw_certificate_expiry_seconds\\{name="${name}"\\} (\\S+)`).exec(metrics) ?? [];
    return Math.round(Number(seconds) / 86_400);
  };
  expect([daysOf('a.test'), daysOf('file.crt')]).toEqual([90, 30]);
  expect(metrics).toMatch(/gw_acme_orders_total\{issuer="le",result="issued"\} 1/);
  expect(metrics).toMatch(/gw_acme_failed_orders\{issuer="le",name="a\.test"\} 0/);
});

test('a session of before a renewal is resumed or begun anew, never refused', async (t) => {
  const { gw, ports } = await startOrdering(t);
  await gw.waitForLog(ISSUED);
  const visit = async (
    session?: Buffer,
  ): Promise<{ session: Buffer; fingerprint: string; status: string }> => {
    const to = { host: '127.0.0.1', port: ports.tls, servername: 'a.test', rejectUnauthorized: false };
    const socket = connect({ ...to, ...(session && { session }) });
    const tickets: Buffer[] = [];
    socket.on('session', (ticket: Buffer) => tickets.push(ticket));
    await once(socket, 'secureConnect');
    socket.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
    const [piece] = (await once(socket, 'data')) as [Buffer];
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return {
      session: tickets[0] ?? Buffer.alloc(0),
      fingerprint: fingerprint256,
      status: piece.toString('latin1', 9, 12),
    };
  };
  const first = await visit();
  expect(first.session.length).toBeGreaterThan(0);
  const from = gw.errorLog().length;
  mkdirSync(join(gw.dir, 'state', 'requests'), { recursive: true });
  writeFileSync(join(gw.dir, 'state', 'requests', 'renew-a.test'), '');
  await gw.waitForLog(ISSUED, from);
  await expect.poll(async () => (await visit()).fingerprint).not.toBe(first.fingerprint);
  expect((await visit(first.session)).status).toBe('200');
  expect(gw.errorLog().slice(from)).not.toMatch(/\[(?:error|crit)\]|SSL_do_handshake/);
});
