import { expect, test, vi } from 'vitest';
import { AcmeFault } from '../../../src/acme/protocol/index.ts';
import { Patience } from '../../../src/acme/protocol/patience.ts';
import { type AcmeAuthority, type Misbehaviour, startAuthority } from '../../harness/acme-authority.ts';
import type { AuthorityOptions, Step } from '../../harness/acme-resources.ts';
import { clientOf, dns, issue } from './account-of.ts';

const NAMES = [dns('a.test')];

/** What an order ends with. */
async function faultOf(promise: Promise<unknown>): Promise<AcmeFault> {
  const fault = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (fault instanceof AcmeFault) return fault;
  throw new Error('no fault of the protocol', { cause: fault });
}

const STEPS: readonly Step[] = [
  'directory',
  'newNonce',
  'newAccount',
  'newOrder',
  'authorization',
  'challenge',
  'order',
  'finalize',
  'certificate',
];

const WITH_BODIES = STEPS.filter((step) => step !== 'newNonce');

/** At each step alike. */
const BAD: readonly {
  readonly it: string;
  readonly how: Misbehaviour;
  readonly kind: string;
  readonly says: RegExp;
}[] = [
  { it: 'is cut off', how: 'close', kind: 'unreachable', says: /^127\.0\.0\.1:\d+: socket hang up$/ },
  {
    it: 'is a fault of the server without a word',
    how: { status: 500 },
    kind: 'malformed response',
    says: /^status 500, no problem document(?:, at http:\/\/[\d.:]+\/\w+)?$/,
  },
  {
    it: 'is a page of another server',
    how: { status: 502, body: '<html>', headers: { 'Retry-After': '30' } },
    kind: 'malformed response',
    says: /^status 502, no problem document(?:, at http:\/\/[\d.:]+\/\w+)?$/,
  },
  {
    it: 'is a redirect',
    how: { status: 302, headers: { Location: '/elsewhere' } },
    kind: 'malformed response',
    says: /^status 302, redirects are not followed(?:, at http:\/\/[\d.:]+\/\w+)?$/,
  },
  {
    it: 'is longer than a megabyte',
    how: { status: 200, body: ' '.repeat(1_048_577) },
    kind: 'unreachable',
    says: /^127\.0\.0\.1:\d+: the response is longer than 1048576 bytes$/,
  },
];

for (const { it, how, kind, says } of BAD)
  test(`a response that ${it} ends an order at each step`, async (t) => {
    // A response to HEAD has no body.
    for (const step of typeof how === 'object' && 'status' in how && how.status === 200
      ? WITH_BODIES
      : STEPS) {
      const authority = await startAuthority(t, { validates: false });
      authority.fail(step, how);
      const fault = await faultOf(issue(clientOf(authority).client, NAMES));
      const retryAfterMs = it.includes('another server') ? 30_000 : undefined;
      expect({ step, kind: fault.kind, message: fault.message, retryAfterMs: fault.retryAfterMs }).toEqual({
        step,
        kind,
        message: expect.stringMatching(says),
        retryAfterMs,
      });
    }
  });

const GARBAGE: readonly { readonly step: Step; readonly body: string; readonly says: string }[] = [
  { step: 'directory', body: 'no JSON', says: 'the directory is not a JSON object' },
  { step: 'directory', body: '[]', says: 'the directory is not a JSON object' },
  { step: 'directory', body: '{}', says: '"newNonce" of the directory: expected a URL' },
  {
    step: 'directory',
    body: '{"newNonce":"http://elsewhere.test/"}',
    says: '"newNonce" of the directory: whoever is on the way could replace what it says: use https',
  },
  {
    step: 'directory',
    body: '{"newNonce":"https://authority.test/\\n[emerg] made up"}',
    says: '"newNonce" of the directory: expected a URL',
  },
  {
    step: 'directory',
    body: `{"newNonce":"https://authority.test/${'a'.repeat(3_000)}"}`,
    says: '"newNonce" of the directory: expected a URL',
  },
  { step: 'newAccount', body: '{}', says: '"Location" of the account: expected a URL' },
  { step: 'newOrder', body: '{}', says: '"Location" of the order: expected a URL' },
  { step: 'authorization', body: '{}', says: '"challenges" of the authorization is no list' },
  {
    step: 'authorization',
    body: '{"challenges":[]}',
    says: 'an identifier is neither a name nor an address',
  },
  {
    step: 'authorization',
    body: '{"challenges":[],"identifier":{"type":"dns","value":"a.test\\r\\n[emerg] b"},"status":"valid"}',
    says: 'an identifier is neither a name nor an address',
  },
  {
    step: 'authorization',
    body: '{"challenges":[{"type":"http-01","token":"short"}],"identifier":{"type":"dns","value":"a"}, "status":"valid"}',
    says: 'the token of a challenge is not 22 to 256 characters of base64url',
  },
  { step: 'order', body: '{}', says: '"authorizations" of the order is no list of URLs' },
  {
    step: 'order',
    body: '{"authorizations":[],"status":"new\\u001b[31m"}',
    says: 'the order has the unknown status "new\\u001b[31m"',
  },
  { step: 'finalize', body: 'null', says: 'the order is not a JSON object' },
];

for (const { step, body, says } of GARBAGE)
  test(`the response ${body} to ${step} is refused`, async (t) => {
    const authority = await startAuthority(t, { validates: false });
    authority.fail(step, { status: 200, body });
    const { kind, message } = await faultOf(issue(clientOf(authority).client, NAMES));
    expect({ kind, message }).toEqual({ kind: 'malformed response', message: says });
  });

const PROBLEMS: readonly {
  readonly it: string;
  readonly how: Misbehaviour;
  readonly fault: Partial<AcmeFault>;
}[] = [
  {
    it: 'a limit of the authority has its time',
    how: { problem: 'rateLimited', status: 429, detail: 'too many', headers: { 'Retry-After': '3600' } },
    fault: { kind: 'rateLimited', status: 429, message: 'rateLimited "too many"', retryAfterMs: 3_600_000 },
  },
  {
    it: 'a time that is absurd is bounded',
    how: { problem: 'rateLimited', headers: { 'Retry-After': '9999999999' } },
    fault: { retryAfterMs: 366 * 86_400_000 },
  },
  {
    it: 'a date in the past is now',
    how: { problem: 'rateLimited', headers: { 'Retry-After': 'Thu, 01 Jan 1970 00:00:00 GMT' } },
    fault: { retryAfterMs: 0 },
  },
  {
    it: 'a time that is none is left out',
    how: { problem: 'rateLimited', headers: { 'Retry-After': 'soon' } },
    fault: { retryAfterMs: undefined },
  },
  {
    it: 'problems of single names are told, the first three in the message',
    how: {
      problem: 'rejectedIdentifier',
      detail: 'some names',
      subproblems: ['a', 'b', 'c', 'd'].map((value) => ({
        type: 'urn:ietf:params:acme:error:caa',
        detail: 'forbidden',
        identifier: { type: 'dns', value },
      })),
    },
    fault: {
      message: 'rejectedIdentifier "some names"; a: caa "forbidden"; b: caa "forbidden"; c: caa "forbidden"',
      subproblems: ['a', 'b', 'c', 'd'].map((identifier) => ({
        kind: 'caa',
        detail: 'forbidden',
        identifier,
      })),
    },
  },
  {
    it: 'what the authority says is one printable line of bounded length',
    how: { problem: 'malformed', detail: `a\r\n[emerg] b\u001b[2J${'c'.repeat(10_000)}` },
    fault: { message: `malformed "${`a [emerg] b [2J${'c'.repeat(400)}`.slice(0, 300)}…"` },
  },
];

for (const { it, how, fault } of PROBLEMS)
  test(`of a refused order, ${it}`, async (t) => {
    const authority = await startAuthority(t, { validates: false });
    authority.fail('newOrder', how);
    const found = await faultOf(issue(clientOf(authority).client, NAMES));
    expect(found).toMatchObject(fault);
  });

test('a nonce that is not taken is replaced, three times in a row', async (t) => {
  const authority = await startAuthority(t, { validates: false });
  for (const step of STEPS.slice(2)) authority.fail(step, { problem: 'badNonce' }, 3);
  await issue(clientOf(authority).client, NAMES);
  authority.fail('newOrder', { problem: 'badNonce' }, 4);
  expect(await faultOf(issue(clientOf(authority).client, NAMES))).toMatchObject({ kind: 'badNonce' });
  expect(authority.asked.filter((step) => step === 'newOrder')).toHaveLength(8);
});

const ACCOUNTS: readonly {
  readonly it: string;
  readonly options: AuthorityOptions;
  readonly issuer?: Parameters<typeof clientOf>[1];
  readonly kind?: string;
  readonly says?: string;
}[] = [
  {
    it: 'whose terms are not accepted makes no account',
    options: { terms: 'https://authority.test/terms' },
    kind: 'refused',
    says: 'the terms of service at https://authority.test/terms have to be accepted with "accept_terms_of_service"',
  },
  {
    it: 'whose terms are accepted makes one',
    options: { terms: 'https://authority.test/terms' },
    issuer: { acceptsTerms: true },
  },
  {
    it: 'that demands an external account is not asked without one',
    options: { externalAccounts: { k1: 'c2VjcmV0' } },
    kind: 'refused',
    says: 'the authority demands an "external_account_key"',
  },
  {
    it: 'that demands an external account gets it',
    options: { externalAccounts: { k1: 'c2VjcmV0' } },
    issuer: { externalAccount: { kid: 'k1', key: 'c2VjcmV0' } },
  },
  {
    it: 'refuses an external account that it does not know',
    options: { externalAccounts: { k1: 'c2VjcmV0' } },
    issuer: { externalAccount: { kid: 'k2', key: 'c2VjcmV0' } },
    kind: 'unauthorized',
    says: 'unauthorized "unknown external account"',
  },
  {
    it: 'refuses a binding with another key',
    options: { externalAccounts: { k1: 'c2VjcmV0' } },
    issuer: { externalAccount: { kid: 'k1', key: 'b3RoZXI' } },
    kind: 'unauthorized',
    says: 'unauthorized "the external account is not bound to this key"',
  },
  {
    it: 'is not asked with an empty key',
    options: { externalAccounts: { k1: 'c2VjcmV0' } },
    issuer: { externalAccount: { kid: 'k1', key: '' } },
    kind: 'refused',
    says: 'the key of "external_account_key" is empty',
  },
];

for (const { it, options, issuer, kind, says } of ACCOUNTS)
  test(`an authority ${it}`, async (t) => {
    const authority = await startAuthority(t, options);
    const { client } = clientOf(authority, issuer);
    if (kind === undefined) expect((await client.account()).url).toBe(authority.accounts[0]?.url);
    else {
      const fault = await faultOf(client.account());
      expect({ kind: fault.kind, message: fault.message }).toEqual({ kind, message: says });
      expect(authority.accounts).toEqual([]);
    }
  });

test('an account is found by its key, and gets the contacts that it lacks', async (t) => {
  const externalAccounts = { k1: 'c2VjcmV0' };
  const authority = await startAuthority(t, { externalAccounts });
  const externalAccount = { kid: 'k1', key: 'c2VjcmV0' };
  const { client, accountKey } = clientOf(authority, { externalAccount, contacts: ['mailto:a@a.test'] });
  const { url } = await client.account();
  expect(authority.accounts[0]?.contact).toEqual(['mailto:a@a.test']);
  const again = clientOf(authority, { accountKey, contacts: ['mailto:b@a.test'] }).client;
  expect(await again.account(url)).toEqual({ url });
  expect(authority.accounts).toHaveLength(1);
  expect(authority.accounts[0]?.contact).toEqual(['mailto:b@a.test']);
});

test('an account that the authority has lost is made again', async (t) => {
  const authority = await startAuthority(t, { validates: false });
  const { client } = clientOf(authority);
  const { url } = await client.account();
  authority.forget();
  expect(await faultOf(client.newOrder({ identifiers: NAMES }))).toMatchObject({
    kind: 'accountDoesNotExist',
  });
  await client.account(url);
  await issue(client, NAMES);
  expect(authority.accounts).toHaveLength(1);
});

test('an account that was revoked orders nothing', async (t) => {
  const authority = await startAuthority(t, { validates: false });
  const { client, accountKey } = clientOf(authority);
  const { url } = await client.account();
  Object.assign(authority.accounts[0] ?? {}, { status: 'revoked' });
  expect(await faultOf(issue(client, NAMES))).toMatchObject({
    kind: 'unauthorized',
    message: 'unauthorized "the account is revoked"',
  });
  const again = clientOf(authority, { accountKey }).client;
  expect(await faultOf(again.account(url))).toMatchObject({
    kind: 'unauthorized',
    message: 'the account is revoked',
  });
});

test('what the authority found at a challenge is the fault of the order', async (t) => {
  const authority = await startAuthority(t, { httpPort: 1 });
  const fault = await faultOf(issue(clientOf(authority).client, NAMES));
  expect(fault.kind).toBe('connection');
  expect(fault.message).toMatch(
    /^the authorization for "a\.test" is invalid: connection "connect ECONNREFUSED 127\.0\.0\.1:1"$/,
  );
});

test('an authorization that is given up ends its order', async (t) => {
  const authority = await startAuthority(t, { validates: false });
  const { client } = clientOf(authority);
  const order = await client.newOrder({ identifiers: NAMES });
  const [url = ''] = order.authorizations;
  await client.deactivate({ url });
  expect(await faultOf(client.untilDecided({ url }))).toMatchObject({
    message: 'the authorization for "a.test" is deactivated',
  });
  expect(await faultOf(client.untilReady(order))).toMatchObject({ kind: 'orderInvalid' });
});

test('a request for other names than those of the order is refused', async (t) => {
  const authority = await startAuthority(t, { validates: false });
  const { client } = clientOf(authority);
  const { orderUrl } = await issue(client, NAMES);
  const order = await client.newOrder({ identifiers: NAMES });
  expect(order.status).toBe('ready');
  expect(await faultOf(client.finalize(order, Buffer.from('no request')))).toMatchObject({ kind: 'badCSR' });
  expect(await client.order(orderUrl)).toMatchObject({ status: 'valid', identifiers: NAMES });
});

const PROFILES = [
  { it: 'is ordered', profile: { name: 'short', isRequired: true }, ordered: 'short', logged: [] },
  {
    it: 'that is not offered is left out, and told',
    profile: { name: 'long', isRequired: false },
    ordered: undefined,
    logged: ['warn issuer "test": the authority has no profile "long"; it offers "short"'],
  },
];

for (const { it, profile, ordered, logged } of PROFILES)
  test(`a profile ${it}`, async (t) => {
    const authority = await startAuthority(t, { profiles: { short: '6 days' } });
    const client = clientOf(authority);
    await client.client.newOrder({ identifiers: NAMES, profile });
    expect(authority.orders[0]?.profile).toBe(ordered);
    expect(client.logged).toEqual(logged);
  });

test('a message about a hundred long profiles is one bounded line', async (t) => {
  const names = Array.from({ length: 100 }, (_, n) => [`${n}\n${'p'.repeat(400)}`, '']);
  const authority = await startAuthority(t, {
    profiles: Object.fromEntries(names) as Record<string, string>,
  });
  const profile = { name: 'short', isRequired: true };
  const { message } = await faultOf(clientOf(authority).client.newOrder({ identifiers: NAMES, profile }));
  expect(message).toMatch(/^the authority has no profile "short"; it offers "0 p[^\n]{1400,}…$/);
  expect(message.length).toBeLessThan(1_600);
});

test('a profile that is required and not offered is a fault', async (t) => {
  const authority: AcmeAuthority = await startAuthority(t);
  const ordering = clientOf(authority).client.newOrder({
    identifiers: NAMES,
    profile: { name: 'short', isRequired: true },
  });
  expect(await faultOf(ordering)).toMatchObject({
    kind: 'refused',
    message: 'the authority has no profile "short"; it offers none',
  });
});

test('what hangs ends with the client', async (t) => {
  const authority = await startAuthority(t, { validates: false });
  const { client, controller } = clientOf(authority);
  await client.account();
  authority.fail('newOrder', 'hang');
  const ordering = faultOf(client.newOrder({ identifiers: NAMES }));
  await expect.poll(() => authority.asked.at(-1)).toBe('newOrder');
  controller.abort();
  expect(await ordering).toMatchObject({ kind: 'unreachable' });
});

test('what stays pending ends with the client', async (t) => {
  const authority = await startAuthority(t, { validates: false });
  authority.stuck = 'authorization';
  const { client, controller } = clientOf(authority);
  const ordering = faultOf(issue(client, NAMES));
  const looks = (): number => authority.asked.filter((step) => step === 'authorization').length;
  await expect.poll(looks).toBeGreaterThan(2);
  controller.abort();
  expect((await ordering).kind).toMatch(/^(?:undecided|unreachable)$/);
});

test('an authority that says nothing for 30 seconds is unreachable', async (t) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  t.onTestFinished(() => void vi.useRealTimers());
  const authority = await startAuthority(t, { validates: false });
  authority.fail('directory', 'hang');
  const asking = faultOf(clientOf(authority).client.directory());
  await vi.waitUntil(() => authority.asked.length > 0);
  vi.advanceTimersByTime(30_000);
  expect(await asking).toMatchObject({ kind: 'unreachable', message: 'no response within 30 s' });
});

const WAITS = [
  { it: 'ever more rarely', retryAfterMs: undefined, firstMs: [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000] },
  { it: 'when it says', retryAfterMs: 5_000, firstMs: [5_000, 5_000] },
  { it: 'not at once', retryAfterMs: 0, firstMs: [250, 250] },
  { it: 'at least once a minute', retryAfterMs: 86_400_000, firstMs: [60_000, 60_000] },
];

for (const { it, retryAfterMs, firstMs } of WAITS)
  test(`an authority that decides nothing is asked ${it}, for five minutes`, async (t) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    t.onTestFinished(() => void vi.useRealTimers());
    const asked: number[] = [];
    const ask = async (): Promise<{ value: string; retryAfterMs: number | undefined }> => {
      asked.push(performance.now());
      return { value: 'pending', retryAfterMs };
    };
    const patience = new Patience(new AbortController().signal);
    const waiting = faultOf(patience.until('the order', { ask, isOver: () => false }));
    await vi.advanceTimersByTimeAsync(300_000);
    const pauses = asked.slice(1).map((at, n) => Math.round(at - (asked[n] ?? 0)));
    expect(pauses.slice(0, firstMs.length)).toEqual(firstMs);
    expect((asked.at(-1) ?? 0) - (asked[0] ?? 0)).toBeLessThanOrEqual(300_000);
    expect(await waiting).toMatchObject({
      kind: 'undecided',
      message: 'the order is still undecided after 5 minutes',
    });
  });
