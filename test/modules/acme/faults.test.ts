import { X509Certificate } from 'node:crypto';
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Certificates } from '../../harness/certificates.ts';
import { startGateway } from '../../harness/gateway.ts';
import type { Misbehaviour } from '../../harness/acme-authority.ts';
import { orderingConf, shownCertificate, startOrdering } from './ordering.ts';

/** A line of the log about a certificate, up to the next try. */
const LINE = /\[(\w+)\] [\d#]+: (certificate[^\n]*); next try at (\S+Z)/;

interface FaultCase {
  readonly it: string;
  readonly step?: Parameters<Awaited<ReturnType<typeof startOrdering>>['authority']['fail']>[0];
  readonly how?: Misbehaviour;
  readonly chain?: 'expired' | 'other names' | 'other key' | 'garbage';
  readonly says: RegExp;
  /** Minutes to the next try. */
  readonly minutes?: number;
}

const cases: readonly FaultCase[] = [
  {
    it: 'the directory is garbage',
    step: 'directory',
    how: { status: 200, body: 'no JSON' },
    says: /directory/,
  },
  {
    it: 'the account is refused',
    step: 'newAccount',
    how: { problem: 'unauthorized', status: 403, detail: 'not you' },
    says: /unauthorized "not you"/,
  },
  {
    it: 'the order is refused',
    step: 'newOrder',
    how: { problem: 'rejectedIdentifier', detail: 'not this' },
    says: /rejectedIdentifier "not this"/,
  },
  {
    it: 'there were too many orders',
    step: 'newOrder',
    how: { problem: 'rateLimited', status: 429, headers: { 'Retry-After': '7200' } },
    says: /rateLimited/,
    minutes: 120,
  },
  {
    it: 'the authority wants to be left alone for months',
    step: 'newOrder',
    how: { problem: 'rateLimited', status: 429, headers: { 'Retry-After': '9000000' } },
    says: /rateLimited/,
    minutes: 1440,
  },
  {
    it: 'the request is refused',
    step: 'finalize',
    how: { problem: 'badCSR', detail: 'weak' },
    says: /badCSR "weak"/,
  },
  {
    it: 'the certificate cannot be fetched',
    step: 'certificate',
    how: { status: 500, body: 'oops' },
    says: /status 500/,
  },
  { it: 'the certificate has expired', chain: 'expired', says: /cannot serve: its certificate has expired/ },
  {
    it: 'the certificate has other names',
    chain: 'other names',
    says: /cannot serve: its certificate is not valid for "a\.test"/,
  },
  {
    it: 'the certificate is one of another key',
    chain: 'other key',
    says: /cannot serve: its certificate belongs to another key/,
  },
  { it: 'the certificate is none', chain: 'garbage', says: /certificate/ },
];

for (const { it, step, how, chain, says, minutes = 1 } of cases)
  test(`one line says what and when the next try is if ${it}`, async (t) => {
    const { gw, authority, ports } = await startOrdering(t, {
      prepare: (opened) => {
        if (step && how) opened.fail(step, how, 100);
        if (chain) opened.certifier.chain = chain;
      },
    });
    const [, level, text = '', time = ''] = await gw.waitForLog(LINE);
    expect(level).toBe('error');
    expect(text).toMatch(/^certificate "a\.test" of issuer "le": /);
    expect(text).toMatch(says);
    const awayMinutes = (Date.parse(time) - Date.now()) / 60_000;
    expect(awayMinutes).toBeGreaterThan(minutes - 0.5);
    expect(awayMinutes).toBeLessThanOrEqual(minutes);
    expect(gw.errorLog().match(/\[(?:error|crit)\]/g)).toHaveLength(1);
    expect(await shownCertificate(ports.tls, 'a.test')).toBeUndefined();
    expect(authority.issued.length).toBeLessThanOrEqual(1);
  });

test('an authority that is away is one line for all certificates, and asked once', async (t) => {
  const servers = Array.from(
    { length: 20 },
    (_, at) => `server { server_name s${at}.test; acme_certificate le; }`,
  );
  const { gw, authority } = await startOrdering(t, {
    http: servers.join('\n'),
    prepare: (opened) => (opened.isAway = true),
  });
  const [line] = await gw.waitForLog(/\[error\][^\n]*next try at[^\n]*/);
  expect(line).toMatch(/21 certificates, "[^"]+" among them, of issuer "le": .*; next try at /);
  expect(gw.errorLog().match(/next try at/g)).toHaveLength(1);
  expect(authority.asked).toEqual([]);
});

test('a directory that cannot be written: the certificate serves, and an error says so', async (t) => {
  const { gw, ports } = await startOrdering(t, {
    files: { 'state/certificates': 'a file in the place of the directory' },
  });
  await gw.waitForLog(/of issuer "le": issued/);
  expect(await shownCertificate(ports.tls, 'a.test')).toBeDefined();
  const errors = gw.errorLog().match(/\[error\].*/g) ?? [];
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatch(
    /issuer "le": write\(\) ".*" failed .*; it stays in memory, and is tried again every minute/,
  );
});

test('a certificate that cannot be written serves after a reload, and is written when there is room', async (t) => {
  const { gw, authority, ports } = await startOrdering(t);
  await gw.waitForLog(/of issuer "le": issued/);
  // Directories in the place of what is written first.
  const blocked = ['order.json', 'pair.pem', 'state.json'].map((file) =>
    join(gw.dir, 'state/certificates/a.test', `${file}.${gw.read('gw.pid').trim()}.1.new`),
  );
  for (const path of blocked) mkdirSync(path);
  let from = gw.errorLog().length;
  gw.lay({ 'state/requests/renew-a.test': '' });
  await gw.waitForLog(/"a\.test" of issuer "le": issued/, from);
  expect(gw.errorLog().slice(from)).toMatch(/\[error\].*it stays in memory, and is tried again every minute/);
  const renewed = (await shownCertificate(ports.tls, 'a.test'))?.fingerprint256;

  const reloadWith = async (name: string): Promise<void> => {
    const http = `server { server_name ${name}; acme_certificate le; }`;
    from = gw.errorLog().length;
    expect(await gw.reload(orderingConf(authority, ports, { http })(gw.dir))).toBe('done');
    await gw.waitForLog(new RegExp(`"${name}" of issuer "le": issued`), from);
  };
  await reloadWith('b.test');
  expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).toBe(renewed);
  expect(authority.orders).toHaveLength(3);
  for (const path of blocked) rmdirSync(path);
  await reloadWith('c.test');
  const stored = (): string =>
    new X509Certificate(gw.read('state/certificates/a.test/pair.pem')).fingerprint256;
  await expect.poll(stored).toBe(renewed);
  expect(authority.orders).toHaveLength(4);
});

test('a request that cannot be removed counts once', async (t) => {
  const { gw, authority } = await startOrdering(t);
  await gw.waitForLog(/of issuer "le": issued/);
  const from = gw.errorLog().length;
  mkdirSync(join(gw.dir, 'state/requests/renew-a.test'), { recursive: true });
  await gw.waitForLog(/of issuer "le": issued/, from);
  gw.lay({ 'state/requests/renew-none.test': '' });
  await gw.waitForLog(/has no certificate "none\.test" to renew/, from);
  expect(gw.errorLog().match(/an operator wants it renewed/g)).toHaveLength(1);
  expect(authority.orders).toHaveLength(2);
});

const untrusted = [
  {
    it: 'is not known',
    days: 30,
    says: /: unable to \w+ .*\("ssl_trusted_certificate" of the issuer says whom to trust\); next/,
  },
  {
    it: 'is out of date',
    days: 0,
    issuer: 'ssl_trusted_certificate DIR/ca.crt;',
    says: /: certificate has expired \(the clock of this machine says \S+Z\); next/,
  },
];
for (const { it, days, issuer, says } of untrusted)
  test(`the line names what helps if the authority's own certificate ${it}`, async (t) => {
    const made = new Certificates();
    made.authority('ca');
    made.signed('127.0.0.1', 'ca', { days });
    const tls = { cert: made.read('127.0.0.1.crt'), key: made.read('127.0.0.1.key') };
    const files = { 'ca.crt': made.read('ca.crt') };
    const { gw } = await startOrdering(t, { authority: { tls }, files, issuer });
    const [line] = await gw.waitForLog(/\[error\].*next try at.*/);
    expect(line).toMatch(says);
  });

test('an account that the authority has lost is made anew', async (t) => {
  const { gw, authority, ports } = await startOrdering(t);
  await gw.waitForLog(/of issuer "le": issued/);
  const before = await shownCertificate(ports.tls, 'a.test');
  authority.forget();
  mkdirSync(join(gw.dir, 'state', 'requests'), { recursive: true });
  const from = gw.errorLog().length;
  writeFileSync(join(gw.dir, 'state', 'requests', 'renew-a.test'), '');
  await gw.waitForLog(/of issuer "le": issued/, from);
  expect(gw.errorLog().slice(from)).not.toMatch(/\[(?:error|warn)\]/);
  expect(authority.accounts).toHaveLength(1);
  expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).not.toBe(before?.fingerprint256);
});

/** A file stands where the directory would be: not even root can write there. */
const unwritable = (dir: string): string =>
  `acme_issuer other { uri https://127.0.0.1:1/directory; accept_terms_of_service; state_path ${dir}/gw.conf/state; }`;
const REFUSED = /open\(\) "\S+\/gw\.conf\/state" failed \(20: Not a directory\)/;

test('a state_path that cannot be written ends a start, which would order everything again', async (t) => {
  const conf = (dir: string): string => `${unwritable(dir)} server { return 200 ok; }`;
  await expect(startGateway(t, conf, { fresh: true, expectAlerts: true })).rejects.toThrow(REFUSED);
});

test('a reload with a state_path that cannot be written is refused', async (t) => {
  const gw = await startGateway(t, 'server { return 200 ok; }', { fresh: true, expectAlerts: true });
  expect(await gw.reload(`${unwritable(gw.dir)} server { return 200 other; }`)).toBe('refused');
  expect(gw.errorLog()).toMatch(REFUSED);
  await gw.expect('GET /', { status: 200, body: 'ok' });
});
