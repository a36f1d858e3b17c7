import { createSecureContext, createServer as createTlsServer } from 'node:tls';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createHash, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  chainFault,
  challengeCertificate,
  makeKey,
  readChain,
} from '../../../src/acme/certificates/index.ts';
import { startAuthority } from '../../harness/acme-authority.ts';
import { startAnswering } from '../../harness/acme-answering.ts';
import { clientOf, dns, issue, newKey } from './account-of.ts';

const NAMES = [dns('a.test'), dns('b.test')];

const ACCOUNT_KEYS = ['ecdsa:256', 'ecdsa:384', 'ecdsa:521', 'rsa:2048'] as const;

for (const kind of ACCOUNT_KEYS)
  test(`an account with a key of the kind ${kind} gets a certificate by http-01`, async (t) => {
    const { port, answers } = await startAnswering(t);
    const authority = await startAuthority(t, { httpPort: port });
    const { client } = clientOf(authority, { accountKey: await makeKey(kind) });
    const prove = (token: string): void => void answers.set(token, client.keyAuthorization(token));
    const { pem, key } = await issue(client, NAMES, { prove });
    expect(await chainFault({ pem, key, identifiers: NAMES, nowMs: Date.now() })).toBe(undefined);
    const facts = await readChain(pem);
    expect(facts).toMatchObject({ names: NAMES, certificateId: authority.issued[0]?.id });
  });

test('a certificate is issued by tls-alpn-01', async (t) => {
  const pairs = new Map<string, { cert: string; key: string }>();
  const server = createTlsServer({
    ALPNProtocols: ['acme-tls/1'],
    SNICallback: (name, done) => done(null, createSecureContext(pairs.get(name) ?? {})),
  });
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => void server.close());
  const authority = await startAuthority(t, { tlsPort: (server.address() as AddressInfo).port });
  const { client } = clientOf(authority);
  const prove = async (token: string, name: string): Promise<void> => {
    const { chain: cert, key } = await challengeCertificate(dns(name), client.keyAuthorization(token));
    pairs.set(name, { cert, key });
  };
  const { pem } = await issue(client, NAMES, { type: 'tls-alpn-01', prove });
  expect((await readChain(pem)).names).toEqual(NAMES);
});

test('a wildcard is issued by dns-01', async (t) => {
  const authority = await startAuthority(t);
  const { client } = clientOf(authority);
  const prove = (token: string, name: string): void => {
    const digest = createHash('sha256').update(client.keyAuthorization(token)).digest('base64url');
    authority.network.txt.set(`_acme-challenge.${name}`, [digest]);
  };
  const { pem } = await issue(client, [dns('*.a.test')], { type: 'dns-01', prove });
  expect((await readChain(pem)).names).toEqual([dns('*.a.test')]);
});

test('a wildcard is issued by dns-persist-01, whose record names the account', async (t) => {
  const authority = await startAuthority(t);
  const { client } = clientOf(authority);
  const { url } = await client.account();
  const order = await client.newOrder({ identifiers: [dns('*.a.test')] });
  const { challenges, isWildcard } = await client.authorization(order.authorizations[0] ?? '');
  const challenge = challenges.find(({ type }) => type === 'dns-persist-01');
  expect({ ...challenge, isWildcard }).toMatchObject({
    issuerDomainNames: ['authority.test'],
    token: '',
    isWildcard: true,
  });
  authority.network.txt.set('_validation-persist.a.test', [
    `authority.test; accounturi=${url}; policy=wildcard`,
  ]);
  const { pem } = await issue(client, [dns('*.a.test')], { type: 'dns-persist-01' });
  expect((await readChain(pem)).names).toEqual([dns('*.a.test')]);
});

test('the chain of the preferred authority is taken, else the first', async (t) => {
  const authority = await startAuthority(t, { validates: false });
  const { client } = clientOf(authority);
  const topOf = async (preferredChain?: string): Promise<string> => {
    const { pem } = await issue(client, NAMES, preferredChain === undefined ? {} : { preferredChain });
    const [, last = ''] = pem.split(/(?<=-----END CERTIFICATE-----\n)/);
    return new X509Certificate(last).issuer;
  };
  expect(await topOf()).toBe('CN=Test Root');
  expect(await topOf('Other Root')).toBe('CN=Other Root');
  expect(await topOf('Test Root')).toBe('CN=Test Root');
  expect(await topOf('No Root')).toBe('CN=Test Root');
});

test('a chain of beginnings without an end is looked through once', async (t) => {
  const authority = await startAuthority(t, { validates: false });
  const { client } = clientOf(authority);
  const endless = '-----BEGIN CERTIFICATE-----'.repeat(38_000);
  authority.fail('certificate', { status: 200, body: endless });
  expect((await issue(client, NAMES, { preferredChain: 'Other Root' })).pem).toBe(endless);
});

test('an order says which certificate it replaces, unless the authority does not take that', async (t) => {
  const authority = await startAuthority(t, { validates: false });
  const { client } = clientOf(authority);
  const { pem } = await issue(client, NAMES);
  const { certificateId: replaces = '' } = await readChain(pem);
  await issue(client, NAMES, { replaces });
  await issue(client, NAMES, { replaces });
  await issue(client, NAMES, { replaces: 'AAAA.AAAA' });
  expect(authority.orders.map((order) => order.replaces)).toEqual([
    undefined,
    replaces,
    undefined,
    undefined,
  ]);
});

test('an authority without renewal information is not told what is replaced', async (t) => {
  const authority = await startAuthority(t, { validates: false, hasRenewalInfo: false });
  const { client } = clientOf(authority);
  await issue(client, NAMES, { replaces: 'AAAA.AAAA' });
  expect(authority.asked.filter((step) => step === 'newOrder')).toHaveLength(1);
  await expect(client.renewalInfo('AAAA.AAAA')).rejects.toMatchObject({ kind: 'refused' });
});

test('renewal information says when, why and when to ask again', async (t) => {
  const authority = await startAuthority(t, { validates: false });
  const { client } = clientOf(authority);
  await issue(client, NAMES);
  authority.window = { startMs: 1_000, endMs: 2_000, retryAfter: '60' };
  expect(await client.renewalInfo(authority.issued[0]?.id ?? '')).toEqual({
    startMs: 1_000,
    endMs: 2_000,
    retryAfterMs: 60_000,
    explanationUrl: 'https://authority.test/why',
  });
});

test('a certificate is revoked by its account, and by its own key', async (t) => {
  const authority = await startAuthority(t, { validates: false });
  const { client } = clientOf(authority);
  const first = await issue(client, NAMES);
  await client.revoke(first.pem, { reason: 4 });
  const second = await issue(client, NAMES);
  const { client: stranger } = clientOf(authority);
  await expect(stranger.revoke(second.pem)).rejects.toMatchObject({ kind: 'unauthorized' });
  await expect(stranger.revoke(second.pem, { key: newKey() })).rejects.toMatchObject({
    kind: 'unauthorized',
  });
  await stranger.revoke(second.pem, { key: second.key });
  await expect(client.revoke(second.pem)).rejects.toMatchObject({ kind: 'alreadyRevoked' });
  expect(authority.issued.map(({ revoked }) => revoked)).toEqual([{ reason: 4 }, { reason: undefined }]);
});
