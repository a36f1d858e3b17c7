import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { certificateId } from '../../src/acme/index.ts';
import { type AcmeAuthority, startAuthority } from '../harness/acme-authority.ts';
import { clientOf, dns, issue } from '../acme/protocol/account-of.ts';
import { directoryWith, gw, type Said } from './command.ts';
import { startGateway } from '../harness/gateway.ts';
import { smallDisk } from '../harness/small-disk.ts';
import { startOrdering } from '../modules/acme/ordering.ts';
import type { Owner } from '../harness/owner.ts';

const NAMES = ['a.test', 'b.test'];
const ID = certificateId({ issuer: 'test', key: 'ecdsa:256', identifiers: NAMES.map(dns) });

const confOf = (uri: string, { challenge = 'http-01', ordered = '' } = {}): string => `events {}
http {
  acme_issuer test { uri ${uri}; state_path state; challenge ${challenge}; accept_terms_of_service; }
  server { listen 127.0.0.1:1; server_name ${NAMES.join(' ')}; acme_certificate test ${ordered}; }
}
`;

/** A directory with a configuration and the state of a certificate that an authority has issued. */
async function stored(t: Owner): Promise<{ dir: string; authority: AcmeAuthority }> {
  const authority = await startAuthority(t, { validates: false });
  const { client } = clientOf(authority);
  const { pem, key } = await issue(client, NAMES.map(dns));
  const dir = directoryWith(t, { 'gw.conf': confOf(authority.url) });
  const own = join(dir, 'state', 'certificates', ID);
  mkdirSync(own, { recursive: true, mode: 0o700 });
  const attempts = {
    failures: 1,
    failedMs: Date.now(),
    waitMs: 0,
    fault: 'rateLimited "later"',
    isWanted: false,
  };
  writeFileSync(join(own, 'pair.pem'), `${pem}${String(key.export({ type: 'pkcs8', format: 'pem' }))}`);
  writeFileSync(join(own, 'state.json'), JSON.stringify({ attempts }));
  const { url } = await client.account();
  writeFileSync(join(dir, 'state', 'account.json'), JSON.stringify({ authority: authority.url, url }));
  return { dir, authority };
}

test('gw acme status lists the certificates with what is kept of them', async (t) => {
  const { dir, authority } = await stored(t);
  const { code, stdout } = await gw(dir, ['acme', 'status', '-c', 'gw.conf', '-p', dir, '--json']);
  expect(code).toBe(0);
  const endMs = Math.floor((Date.now() + 90 * 86_400_000) / 1_000);
  const [status] = JSON.parse(stdout) as { notAfter: string; nextTry: string }[];
  expect(status).toMatchObject({ id: ID, issuer: 'test', names: NAMES, fault: 'rateLimited "later"' });
  expect(Math.abs(Date.parse(status?.notAfter ?? '') / 1_000 - endMs)).toBeLessThan(600);
  expect(Date.parse(status?.nextTry ?? '')).toBeGreaterThan(Date.now() + 50 * 86_400_000);
  const table = await gw(dir, ['acme', 'status', '-c', 'gw.conf', '-p', dir]);
  expect(table.stdout).toMatch(/^CERTIFICATE +ISSUER +NAMES +VALID UNTIL +NEXT ORDER +LAST FAULT\n/);
  expect(table.stdout).not.toContain('PRIVATE');
  expect(authority.asked.filter((step) => step === 'newOrder')).toHaveLength(1);
});

test('gw acme status knows no next order while the state cannot be written', async (t) => {
  const state = smallDisk(t, '64k');
  if (state === undefined) return t.skip('this account cannot mount a file system');
  chmodSync(state, 0o700);
  expect(() => writeFileSync(join(state, 'filler'), Buffer.alloc(100_000))).toThrow('ENOSPC');
  const dir = directoryWith(t, {
    'gw.conf': confOf('http://127.0.0.1:1/directory').replace('state_path state', `state_path ${state}`),
  });
  const status = async (...args: string[]): Promise<Said> =>
    gw(dir, ['acme', 'status', '-c', 'gw.conf', '-p', dir, ...args]);
  const fault = `kept in memory only: write() "${state}" failed (28: No space left on device)`;
  expect(JSON.parse((await status('--json')).stdout)).toMatchObject([{ id: ID, nextTry: null, fault }]);
  const { stdout } = await status();
  expect(stdout).toContain(` -            unknown     ${fault}\n`);
  expect(stdout).toMatch(/\ngw status asks the gateway, .*"control_api certificates"\n$/);
  expect(readdirSync(state)).toEqual(['filler']);
});

test('gw acme status shows a certificate that was never ordered', async (t) => {
  const dir = directoryWith(t, { 'gw.conf': confOf('http://127.0.0.1:1/directory') });
  const { code, stdout } = await gw(dir, ['acme', 'status', '-c', 'gw.conf', '-p', dir, '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject([{ id: ID, notAfter: null, fault: null }]);
});

test('gw acme renew leaves a request for the gateway', async (t) => {
  const { dir } = await stored(t);
  const { code, stdout } = await gw(dir, ['acme', 'renew', ID, '-c', 'gw.conf', '-p', dir]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${ID}: a new certificate is requested\n` });
  expect(readdirSync(join(dir, 'state', 'requests'))).toEqual([`renew-${ID}`]);
});

test('gw acme renew makes no directory in the place of the gateway', async (t) => {
  const dir = directoryWith(t, { 'gw.conf': confOf('http://127.0.0.1:1/directory') });
  const { code, stderr } = await gw(dir, ['acme', 'renew', '--all', '-c', 'gw.conf', '-p', dir]);
  expect(code).toBe(1);
  expect(stderr).toContain(`gw: "DIR/state" does not exist yet: start the gateway first`);
  expect(existsSync(join(dir, 'state'))).toBe(false);
});

test('gw acme renew takes the name that a certificate is for, in any case', async (t) => {
  const { dir } = await stored(t);
  const { code, stdout } = await gw(dir, ['acme', 'renew', 'B.test', ID, '-c', 'gw.conf', '-p', dir]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${ID}: a new certificate is requested\n` });
  expect(readdirSync(join(dir, 'state', 'requests'))).toEqual([`renew-${ID}`]);
});

test('gw acme revoke takes a name, and asks which one if several certificates are for it', async (t) => {
  const { dir, authority } = await stored(t);
  const second = `acme_issuer other { uri ${authority.url}; state_path other; accept_terms_of_service; }
    server { listen 127.0.0.1:2; server_name a.test c.test; acme_certificate other; } }`;
  const revoke = ['acme', 'revoke', 'a.test', '-c', 'gw.conf', '-p', dir];
  const both = `${ID} for a.test b.test, of issuer "test"`;
  writeFileSync(join(dir, 'gw.conf'), confOf(authority.url).replace(/\}\n$/, second));
  const several = await gw(dir, revoke);
  expect(several).toMatchObject({ code: 2, stdout: '' });
  expect(several.stderr).toContain(`gw: 2 certificates are for "a.test"; there are:\n  ${both}\n`);
  const one = await gw(dir, [...revoke, '--issuer', 'test']);
  expect(one).toMatchObject({ code: 0, stdout: `${ID}: revoked; a new certificate is requested\n` });
});

test.runIf(process.getuid?.() === 0)('what root leaves belongs to the account that serves', async (t) => {
  const { dir } = await stored(t);
  const account = 65_534;
  for (const path of ['', 'state', 'state/certificates', `state/certificates/${ID}`])
    chownSync(join(dir, path), account, account);
  const { code } = await gw(dir, ['acme', 'renew', '--all', '-c', 'gw.conf', '-p', dir]);
  expect(code).toBe(0);
  const { uid, mode } = statSync(join(dir, 'state', 'requests', `renew-${ID}`));
  expect({ uid, mode: mode & 0o777 }).toEqual({ uid: account, mode: 0o600 });
});

const refused = [
  {
    args: ['renew', 'c.test'],
    stderr: `gw: there is no certificate "c.test"; there are:\n  ${ID} for a.test b.test, of issuer "test"\n`,
  },
  {
    args: ['renew'],
    stderr: 'gw: expected ids or names of certificates, or --all\n  gw acme status lists them\n',
  },
  {
    args: ['renew', '--all', '--issuer', 'none'],
    stderr: 'gw: no "acme_issuer" is called "none"\n',
  },
  { args: ['record'], stderr: 'gw: no issuer has "challenge dns-persist-01"\n' },
  {
    args: ['revoke', 'x/../y'],
    stderr: `gw: there is no certificate "x/../y"; there are:\n  ${ID} for a.test b.test, of issuer "test"\n`,
  },
];

for (const { args, stderr } of refused)
  test(`gw acme ${args.join(' ')} is refused with exit code 2`, async (t) => {
    const { dir } = await stored(t);
    const done = await gw(dir, ['acme', ...args, '-c', 'gw.conf', '-p', dir]);
    expect({ ...done, stderr: done.stderr.replace(/^gw: \[warn\].*\n(?: .*\n)*/gm, '') }).toEqual({
      code: 2,
      stdout: '',
      stderr,
    });
  });

test('gw acme revoke revokes a certificate once, and requests another one', async (t) => {
  const { dir, authority } = await stored(t);
  const revoke = ['acme', 'revoke', ID, '--reason', 'superseded', '-c', 'gw.conf', '-p', dir];
  const { code, stdout } = await gw(dir, revoke);
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${ID}: revoked; a new certificate is requested\n` });
  expect(authority.issued[0]?.revoked).toEqual({ reason: 4 });
  expect(readdirSync(join(dir, 'state', 'requests'))).toEqual([`revoked-${ID}`]);
  const again = await gw(dir, revoke);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('gw: alreadyRevoked') });
});

test('gw acme record prints what dns-persist-01 looks for', async (t) => {
  const { dir, authority } = await stored(t);
  const conf = confOf(authority.url, { challenge: 'dns-persist-01', ordered: 'a.test *.a.test b.test' });
  writeFileSync(join(dir, 'gw.conf'), conf);
  const account = JSON.parse(readFileSync(join(dir, 'state', 'account.json'), 'utf8')) as { url: string };
  const { code, stdout } = await gw(dir, ['acme', 'record', '-c', 'gw.conf', '-p', dir]);
  const value = `authority.test; accounturi=${account.url}`;
  expect(stdout).toBe(
    `_validation-persist.a.test. IN TXT "${value}; policy=wildcard"\n_validation-persist.b.test. IN TXT "${value}"\n`,
  );
  expect(code).toBe(0);
  const named = await gw(dir, ['acme', 'record', '--issuer-domain', 'ca.test', '-c', 'gw.conf', '-p', dir]);
  expect(named.stdout).toContain('"ca.test; accounturi=');
});

test('the gateway that runs takes up what gw acme renew and revoke request', async (t) => {
  const authority = await startAuthority(t, { validates: false });
  const gateway = await startGateway(
    t,
    `acme_issuer test { uri ${authority.url}; state_path state; accept_terms_of_service; }
     server { server_name a.test; acme_certificate test; }`,
    { fresh: true },
  );
  const run = (...args: readonly string[]): Promise<Said> =>
    gw(gateway.dir, ['acme', ...args, 'a.test', '-c', 'gw.conf', '-p', gateway.dir]);
  await expect.poll(() => authority.issued.length).toBe(1);
  await expect.poll(() => existsSync(join(gateway.dir, 'state/certificates/a.test/pair.pem'))).toBe(true);
  expect(await run('renew')).toMatchObject({ code: 0 });
  await expect.poll(() => authority.issued.length).toBe(2);
  await gateway.waitForLog(/an operator wants it renewed/);
  expect(await run('revoke')).toMatchObject({ code: 0 });
  await expect.poll(() => authority.issued.length).toBe(3);
  expect(authority.issued.filter(({ revoked }) => revoked)).toHaveLength(1);
});

test('gw status shows why an order failed and when the next try is', async (t) => {
  const certificatesToo = 'location = /certificates { control_api certificates; }';
  const { gw: gateway, authority } = await startOrdering(t, {
    http: `server { listen 127.0.0.1:PLAIN; location = /metrics { control_api metrics; } ${certificatesToo} }
      server { server_name b.test; acme_certificate le; }`,
    prepare: (opened) => opened.fail('newOrder', { problem: 'rejectedIdentifier', detail: 'not this' }),
  });
  const fault = 'rejectedIdentifier "not this"';
  const status = (...args: readonly string[]): Promise<Said> =>
    gw(gateway.dir, ['status', '-c', 'gw.conf', '-p', gateway.dir, ...args]);
  await gateway.waitForLog(/; next try at /);
  await expect.poll(() => authority.issued.length).toBe(1);
  await expect.poll(async () => (await status()).stdout).toMatch(/ in \d\dd \d+h +0 +in \d\dd \d+h +-\n/);
  const { stdout } = await status();
  expect(stdout).toMatch(/\ncertificates\n {2}CERTIFICATE +EXPIRES +FAILED ORDERS +NEXT ORDER +LAST FAULT\n/);
  expect(stdout).toMatch(/ {2}[ab]\.test +there is none +1 +in \d\ds +rejectedIdentifier "not this"\n/);
  const { certificates } = JSON.parse((await status('--json')).stdout) as {
    certificates: readonly { readonly nextOrder: string; readonly fault?: string }[];
  };
  const failed = certificates.find((one) => one.fault !== undefined);
  expect(failed).toMatchObject({ failedOrders: 1, ordering: false, fault });
  expect(Math.abs(Date.parse(failed?.nextOrder ?? '') - Date.now())).toBeLessThan(60_000);

  // A gateway that shows metrics only.
  gateway.lay({ 'gw.conf': gateway.read('gw.conf').replace(certificatesToo, '') });
  const alone = await status();
  expect(alone.stdout).toMatch(/ there is none +1 +- +-\n[^]*^ {2}add "location = \/certificates \{/m);
});
