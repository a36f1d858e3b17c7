import { describe, expect, test, vi } from 'vitest';
import { FactsRecord, type KeptFacts } from '../../../src/acme/custodian/certificate-facts.ts';
import { runDnsHook } from '../../../src/acme/custodian/dns-hook.ts';
import { FaultLines } from '../../../src/acme/custodian/fault-lines.ts';
import { OnDemandLimits } from '../../../src/acme/custodian/on-demand.ts';
import { issuerDomainsFault, persistentRecordFault } from '../../../src/acme/custodian/persistent-records.ts';
import { SealedEntries } from '../../../src/acme/custodian/sealed-entries.ts';
import { KeptEntry } from '../../../src/acme/custodian/kept-entry.ts';
import { SparseLines } from '../../../src/acme/sparse-lines.ts';
import { createZone, SharedText } from '../../../src/zone/index.ts';
import { isAlive } from '../../../src/system/index.ts';

const NOW = Date.parse('2026-11-29T12:00:00Z');

const lineCases = [
  {
    it: 'are one line each if they differ',
    faults: [
      { id: 'a.test', fault: 'x' },
      { id: 'b.test', fault: 'y' },
    ],
    lines: [
      '[warn] certificate "a.test" of issuer "le": x; next try at 2026-11-29T12:00:00Z',
      '[warn] certificate "b.test" of issuer "le": y; next try at 2026-11-29T12:01:00Z',
    ],
  },
  {
    it: 'are one line with a count and the first try if they are equal',
    faults: [
      { id: 'a.test', fault: 'x' },
      { id: 'b.test', fault: 'x', isUrgent: true },
      { id: 'c.test', fault: 'x' },
    ],
    lines: [
      '[error] 3 certificates, "a.test" among them, of issuer "le": x; next try at 2026-11-29T12:00:00Z',
    ],
  },
  {
    it: 'of two issuers are two lines',
    faults: [
      { id: 'a.test', fault: 'x' },
      { id: 'a.test', fault: 'x', issuer: 'other' },
    ],
    lines: [
      '[warn] certificate "a.test" of issuer "le": x; next try at 2026-11-29T12:00:00Z',
      '[warn] certificate "a.test" of issuer "other": x; next try at 2026-11-29T12:01:00Z',
    ],
  },
];

describe('faults of certificates', () => {
  const told = (
    faults: readonly { id: string; fault: string; isUrgent?: boolean; issuer?: string }[],
  ): string[] => {
    const lines: string[] = [];
    const all = new FaultLines({ write: (level, message) => void lines.push(`[${level}] ${message}`) });
    for (const [at, { issuer = 'le', isUrgent = false, ...fault }] of faults.entries())
      all.tell({ issuer, isUrgent, ...fault, nextMs: NOW + at * 60_000 });
    all.flush();
    return lines;
  };
  for (const { it, faults, lines } of lineCases) test(it, () => expect(told(faults)).toEqual(lines));
});

const accountUrl = 'https://a.test/acct/1';
const issuerDomainNames = ['authority.test', 'other.test'];
const plainName = { type: 'dns', value: 'x.test' } as const;
const wildcardName = { type: 'dns', value: '*.x.test' } as const;
const recordCases = [
  { it: 'lets its account have a name', record: `authority.test; accounturi=${accountUrl}`, fits: true },
  {
    it: 'may have any blanks and cases',
    record: `Authority.Test. ;ACCOUNTURI=${accountUrl} ; other=1`,
    fits: true,
  },
  {
    it: 'may be one for the second name of the authority',
    record: `other.test;accounturi=${accountUrl}`,
    fits: true,
  },
  { it: 'of another authority does not count', record: `evil.test; accounturi=${accountUrl}`, fits: false },
  {
    it: 'of another account does not count',
    record: `authority.test; accounturi=${accountUrl}0`,
    fits: false,
  },
  { it: 'without an account does not count', record: 'authority.test', fits: false },
  {
    it: 'without a policy is for no wildcard',
    record: `authority.test; accounturi=${accountUrl}`,
    of: wildcardName,
    fits: false,
  },
  {
    it: 'with the policy is for a wildcard',
    record: `authority.test; accounturi=${accountUrl}; policy=Wildcard`,
    of: wildcardName,
    fits: true,
  },
  {
    it: 'counts until it ends',
    record: `authority.test; accounturi=${accountUrl}; persistUntil=${NOW / 1_000 + 1}`,
    fits: true,
  },
  {
    it: 'that has ended does not count',
    record: `authority.test; accounturi=${accountUrl}; persistUntil=${NOW / 1_000}`,
    fits: false,
  },
  {
    it: 'with a malformed end does not count',
    record: `authority.test; accounturi=${accountUrl}; persistUntil=soon`,
    fits: false,
  },
];
const domains2 = [
  { it: 'one name', names: ['a'], fault: undefined },
  { it: 'ten names', names: Array.from({ length: 10 }, String), fault: undefined },
  { it: 'no names', names: [], fault: /has no "issuer-domain-names"/ },
  { it: 'no member for names', names: undefined, fault: /has no "issuer-domain-names"/ },
  { it: 'eleven names', names: Array.from({ length: 11 }, String), fault: /has more than 10/ },
];

describe('a record of dns-persist-01', () => {
  for (const { it, record, of: identifier = plainName, fits } of recordCases)
    test(it, () => {
      const fault = persistentRecordFault(['v=spf1', record], {
        identifier,
        accountUrl,
        issuerDomainNames,
        nowMs: NOW,
      });
      expect(fault === undefined).toBe(fits);
    });

  test('that is missing is told as it has to be', () => {
    expect(
      persistentRecordFault([], { identifier: wildcardName, accountUrl, issuerDomainNames, nowMs: NOW }),
    ).toBe(
      `there is no TXT record at "_validation-persist.x.test": expected "authority.test; accounturi=${accountUrl}; policy=wildcard"`,
    );
  });

  for (const { it, names, fault } of domains2)
    test(`is ${fault ? 'not ' : ''}looked up for a challenge with ${it}`, () => {
      if (fault) expect(issuerDomainsFault(names)).toMatch(fault);
      else expect(issuerDomainsFault(names)).toBeUndefined();
    });
});

test('orders on demand are bounded by rate and number', () => {
  const limits = new OnDemandLimits([
    { issuer: 'le', key: 'ecdsa:256', rate: { orders: 2, perMs: 60_000 }, max: 3 },
  ]);
  const certificate = {
    issuer: 'le',
    identifiers: [{ type: 'dns', value: 'a.test' }],
    key: 'ecdsa:256',
  } as const;
  const refusals = [0, 1_000, 2_000, 60_000, 60_500].map((ms) => limits.refusal(certificate, 0, NOW + ms));
  expect(refusals.map((one) => one === undefined)).toEqual([true, true, false, true, false]);
  expect(limits.refusal(certificate, 3, NOW + 200_000)).toBe('there are 3 already (max=3)');
  expect(limits.refusal({ ...certificate, issuer: 'x' }, 0, NOW)).toBe('no "acme_on_demand" is for it');
  // Set back by a year, the clock frees what was counted.
  expect(limits.refusal(certificate, 0, NOW - 31_536_000_000)).toBeUndefined();
});

describe('what gateways tell each other', () => {
  const entry = {
    kind: 'certificate',
    issuer: 'le',
    name: 'a.test',
    pair: { chain: 'CHAIN', key: 'KEY' },
  } as const;
  const sealed = new SealedEntries('secret');
  const key = sealed.keyOf('certificate', 'a.test', 'le');
  const text = sealed.seal(key, entry);

  test('is read by those who have the secret', () => {
    expect(new SealedEntries('secret').open(key, text)).toEqual(entry);
    expect(`${key}${Buffer.from(text, 'base64url').toString('latin1')}`).not.toMatch(/CHAIN|KEY|a\.test/);
    expect(sealed.seal(key, entry)).not.toBe(text);
  });

  const cases = [
    { it: 'with another secret', opened: () => new SealedEntries('other').open(key, text) },
    { it: 'under another key', opened: () => sealed.open(sealed.keyOf('certificate', 'b.test', 'le'), text) },
    {
      it: 'changed',
      opened: () => sealed.open(key, `${text.slice(0, 30)}${text[30] === 'A' ? 'B' : 'A'}${text.slice(31)}`),
    },
    { it: 'cut', opened: () => sealed.open(key, text.slice(0, 20)) },
    { it: 'empty', opened: () => sealed.open(key, '') },
    {
      it: 'of an unknown kind',
      opened: () => sealed.open(key, sealed.seal(key, { kind: 'else', name: 'a' } as never)),
    },
  ];
  for (const { it, opened } of cases) test(`is nothing ${it}`, () => expect(opened()).toBeUndefined());
});

const hookCall = { action: 'present', name: '_acme-challenge.a.test', value: 'VALUE' } as const;
const hookCases = [
  { it: 'ends well', script: 'test "$1 $2 $3" = "present _acme-challenge.a.test VALUE"', fault: undefined },
  {
    it: 'fails without a word',
    script: 'exit 7',
    fault: /^"dns_hook present _acme-challenge\.a\.test" ended with code 7$/,
  },
  {
    it: 'says why it fails',
    script: 'echo one >&2; echo "no zone for $3" >&2; exit 1',
    fault: /ended with code 1: no zone for …$/,
  },
  {
    it: 'writes without end before it fails',
    script: 'head -c 3000000 /dev/zero | tr "\\0" x >&2; exit 1',
    fault: /ended with code 1: x{200}$/,
  },
  {
    it: 'ends before the reason that it has written arrives',
    script: '(sleep 0.1; echo "no zone" >&2) & exit 1',
    fault: /ended with code 1: no zone$/,
  },
  {
    it: 'fails and leaves a process behind that holds stderr open',
    script: 'echo "no zone" >&2; sleep 5 & exit 1',
    fault: /ended with code 1: no zone$/,
  },
  { it: 'is killed', script: 'kill -9 $$', fault: /ended with SIGKILL$/ },
  { it: 'does not end', script: 'sleep 100', timeoutMs: 200, fault: /did not end within 0\.2 s$/ },
];

describe('dns_hook', () => {
  const run = (script: string, timeoutMs = 10_000, signal = new AbortController().signal): Promise<void> =>
    runDnsHook(hookCall, { command: ['/bin/sh', '-c', script, 'hook'], timeoutMs, signal });

  for (const { it, script, timeoutMs, fault } of hookCases)
    test(`${it}`, async () => {
      const running = run(script, timeoutMs);
      if (fault) await expect(running).rejects.toThrow(fault);
      else await expect(running).resolves.toBeUndefined();
    });

  test('is killed with its children', async () => {
    const running = run('sleep 100 & echo $! >&2; wait', 1_000);
    const message = await running.catch((error: Error) => error.message);
    const [, pid] = /(\d+)$/.exec(String(message)) ?? [];
    await expect.poll(() => isAlive(Number(pid))).toBe(false);
  });

  test('that cannot be run says so', async () => {
    const { signal } = new AbortController();
    await expect(runDnsHook(hookCall, { command: ['/no/such/program'], signal })).rejects.toThrow(
      /cannot be run \(.*ENOENT\)/,
    );
  });

  test('is ended when the gateway stops', async () => {
    const stopping = new AbortController();
    const running = run('sleep 100', 10_000, stopping.signal);
    stopping.abort();
    await expect(running).rejects.toThrow(/was stopped$/);
    await expect(run('true', 10_000, stopping.signal)).rejects.toThrow(/was not run: gw stops$/);
  });
});

test('names that clients ask for in vain do not hide the certificates of the configuration', () => {
  const memory = createZone({ name: 'facts', kind: 'shared text', bytes: 16_384 });
  const [teller, reader] = [1, 2].map((thread) => new FactsRecord(new SharedText(memory, thread)));
  const fact = (name: string, isOnDemand: boolean, notAfterMs?: number): KeptFacts => ({
    name,
    issuer: 'le',
    state: notAfterMs === undefined ? 'missing' : 'valid',
    isOrdered: false,
    isOnDemand,
    ...(notAfterMs !== undefined && { notAfterMs }),
    nextMs: 0,
    failures: 1,
    fault: 'refused',
  });
  const vain = Array.from({ length: 500 }, (_, n) => fact(`n${n}.test`, true));
  teller?.tell([...vain, fact('asked.test', true, NOW), fact('a.test', false, NOW), fact('b.test', false)]);
  const names = [...(reader?.facts.keys() ?? [])];
  expect(names.slice(0, 3)).toEqual(['b.test', 'a.test', 'asked.test']);
  expect(names.length).toBeGreaterThan(20);
});

describe('what clients can cause', () => {
  test('is one line in a second, with the number of those before', (t) => {
    vi.useFakeTimers({ toFake: ['performance'] });
    t.onTestFinished(() => void vi.useRealTimers());
    const lines: string[] = [];
    const sparse = new SparseLines({ write: (level, message) => void lines.push(`[${level}] ${message}`) });
    for (let n = 0; n < 100; n += 1) sparse.write('warn', `refused ${n}`);
    vi.advanceTimersByTime(1_000);
    sparse.write('warn', 'refused again');
    vi.advanceTimersByTime(1_000);
    sparse.write('error', 'failed');
    expect(lines).toEqual([
      '[warn] refused 0',
      '[warn] refused again; 99 lines were left out',
      '[error] failed',
    ]);
  });
});

test('a clock that jumps ends no certificate on demand', (t) => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  t.onTestFinished(() => void vi.useRealTimers());
  const entry = new KeptEntry({ issuer: 'le', identifiers: [plainName], key: 'ecdsa:256' }, true);
  entry.facts = {
    notBeforeMs: NOW,
    notAfterMs: NOW + 1_000,
    names: [plainName],
    serial: '01',
    issuer: 'ca',
    certificateId: undefined,
    fingerprint: '',
  };
  const years = NOW + 1e12;
  const spans = [NOW, years, years].map((nowMs) => entry.overForMs(nowMs));
  vi.advanceTimersByTime(3_600_000);
  expect([...spans, entry.overForMs(years)]).toEqual([0, 0, 0, 3_600_000]);
  expect(entry.overForMs(NOW)).toBe(0);
  expect(entry.overForMs(years)).toBe(0);
});
