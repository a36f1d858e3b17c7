import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { orderingConf, shownCertificate, startOrdering } from './ordering.ts';

const ISSUED = /certificate "a\.test" of issuer "le": issued, valid until/;

test('a site without a certificate gets one by http-01, without a reload', async (t) => {
  const { gw, authority, ports } = await startOrdering(t);
  await gw.waitForLog(ISSUED);
  const shown = await shownCertificate(ports.tls, 'a.test');
  expect(shown?.subjectAltName).toBe('DNS:a.test');
  expect([authority.accounts.length, authority.issued.length]).toEqual([1, 1]);
  expect(readdirSync(join(gw.dir, 'state')).toSorted()).toEqual([
    'account.json',
    'account.key',
    'certificates',
    'lock',
  ]);
  const folder = join(gw.dir, 'state', 'certificates', 'a.test');
  expect(readdirSync(folder).toSorted()).toEqual(['pair.pem', 'state.json']);
  expect(statSync(join(folder, 'pair.pem')).mode & 0o777).toBe(0o600);
  expect(gw.errorLog()).not.toContain('PRIVATE KEY');
});

test('a stored certificate serves at once after a restart, and is not ordered again', async (t) => {
  const { gw, authority, ports } = await startOrdering(t);
  await gw.waitForLog(ISSUED);
  const before = await shownCertificate(ports.tls, 'a.test');
  await gw.stop();
  authority.isAway = true;
  const from = gw.errorLog().length;
  gw.start();
  await gw.waitForLog(/start worker processes/, from);
  expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).toBe(before?.fingerprint256);
  expect(authority.issued).toHaveLength(1);
});

test('one certificate has all names of its server', async (t) => {
  const { gw, ports } = await startOrdering(t, { names: 'a.test b.test c.test' });
  await gw.waitForLog(/certificate "a\.test-[0-9a-f]+" of issuer "le": issued/);
  expect((await shownCertificate(ports.tls, 'c.test'))?.subjectAltName).toBe(
    'DNS:a.test, DNS:b.test, DNS:c.test',
  );
});

test('without a directory, everything is in memory', async (t) => {
  const { gw, ports } = await startOrdering(t, { issuer: 'state_path off;', names: 'a.test' });
  await gw.waitForLog(ISSUED);
  expect(await shownCertificate(ports.tls, 'a.test')).toBeDefined();
  expect(existsSync(join(gw.dir, 'state'))).toBe(false);
});
test('a certificate by tls-alpn-01 serves in all workers', async (t) => {
  const { gw, ports } = await startOrdering(t, { issuer: 'challenge tls-alpn-01;', workers: 2 });
  await gw.waitForLog(ISSUED);
  const shown = await Promise.all(Array.from({ length: 8 }, () => shownCertificate(ports.tls, 'a.test')));
  expect(new Set(shown.map((one) => one?.subjectAltName))).toEqual(new Set(['DNS:a.test']));
});

test.skipIf(process.getuid?.() !== 0)(
  'a key of the account that only root can read serves a gateway that is not root any more',
  async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'gw-acme-key-'));
    t.onTestFinished(async () => rmSync(dir, { recursive: true }));
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const file = join(dir, 'account.pem');
    writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const { gw, authority } = await startOrdering(t, {
      issuer: `account_key ${file};`,
      main: 'user nobody;',
    });
    await gw.waitForLog(ISSUED);
    expect(authority.accounts).toHaveLength(1);
    expect(readdirSync(join(gw.dir, 'state')).toSorted()).toEqual(['account.json', 'certificates', 'lock']);
    expect(statSync(join(gw.dir, 'state', 'certificates')).uid).not.toBe(0);
  },
);

test.skipIf(process.getuid?.() !== 0)(
  'the key of an external account that only root can read binds the account of a gateway that is not root any more',
  async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'gw-acme-eab-'));
    t.onTestFinished(async () => rmSync(dir, { recursive: true }));
    const file = join(dir, 'external.key');
    writeFileSync(file, 'c2VjcmV0\n', { mode: 0o600 });
    const { gw, authority } = await startOrdering(t, {
      issuer: `external_account_key k1 ${file};`,
      main: 'user nobody;',
      authority: { externalAccounts: { k1: 'c2VjcmV0' } },
    });
    await gw.waitForLog(ISSUED);
    expect(authority.accounts).toHaveLength(1);
    expect(gw.errorLog()).not.toContain('c2VjcmV0');
  },
);

test.skipIf(process.getuid?.() !== 0)(
  'a reload by a gateway that is not root any more adds an issuer with a directory that does not exist',
  async (t) => {
    const { gw, authority, ports } = await startOrdering(t, { main: 'user nobody;', supervised: true });
    await gw.waitForLog(ISSUED);
    const http = `acme_issuer second { uri ${authority.base}/directory; accept_terms_of_service; state_path DIR/later/second; }
      server { server_name b.test; acme_certificate second; }`;
    expect(await gw.reload(orderingConf(authority, ports, { http })(gw.dir))).toBe('done');
    await gw.waitForLog(/certificate "b\.test" of issuer "second": issued/);
    const kept = join(gw.dir, 'later', 'second', 'certificates', 'b.test', 'pair.pem');
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(statSync(kept).uid).not.toBe(0);
    expect(statSync(join(gw.dir, 'later', 'second')).mode & 0o777).toBe(0o700);
    expect(gw.errorLog()).not.toMatch(/\[(?:error|alert|emerg)\]/);
  },
);
