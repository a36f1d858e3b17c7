import { expect, test, vi } from 'vitest';
import { openAuthenticator } from '../../../src/modules/dbrest/auth/index.ts';
import type { CacheMetrics } from '../../../src/modules/dbrest/metrics.ts';
import { inSeconds, SECRET, sign } from '../../harness/tokens.ts';

type Count = { -readonly [Name in keyof CacheMetrics]: number };

const open = (count: Count = { requests: 0, hits: 0, evictions: 0 }) => {
  const counter = (name: keyof Count) => ({ add: () => void (count[name] += 1) });
  const metrics = {
    requests: counter('requests'),
    hits: counter('hits'),
    evictions: counter('evictions'),
  };
  const authenticator = openAuthenticator(
    { kind: 'secret', secret: SECRET },
    {
      anonRole: undefined,
      rolePath: ['role'],
      audience: undefined,
      invalid: 'reject',
      loginRole: 'login',
      metrics,
    },
  );
  return { authenticator, count };
};

test('a token is verified once, and then found in the cache', () => {
  const { authenticator, count } = open();
  const header = [`Bearer ${sign({ role: 'a' })}`];
  for (const hits of [0, 1, 2]) {
    expect(authenticator.identify(header)).toMatchObject({ role: 'a' });
    expect(count).toEqual({ requests: hits + 1, hits, evictions: 0 });
  }
});

test('a cached token expires', () => {
  const { authenticator } = open();
  const startedMs = Date.now();
  const header = [`Bearer ${sign({ role: 'a', exp: inSeconds(10) })}`];
  authenticator.identify(header);
  vi.useFakeTimers({ now: startedMs + 39_000, toFake: ['Date'] });
  try {
    expect(authenticator.identify(header)).toMatchObject({ role: 'a' });
    vi.setSystemTime(startedMs + 42_000);
    expect(() => authenticator.identify(header)).toThrow('JWT expired');
  } finally {
    vi.useRealTimers();
  }
});

test('tokens with the same beginning are distinct', () => {
  const { authenticator } = open();
  const token = sign({ role: 'a' });
  authenticator.identify([`Bearer ${token}`]);
  expect(() => authenticator.identify([`Bearer ${token.slice(0, -2)}xx`])).toThrow('No suitable key');
});

test('a thousand tokens are cached, and the least recently used is removed first', () => {
  const { authenticator, count } = open();
  const headers = Array.from({ length: 1_001 }, (_, n) => [`Bearer ${sign({ role: 'a', n })}`]);
  const hitsOf = (n: number): number => {
    const before = count.hits;
    authenticator.identify(headers[n] as string[]);
    return count.hits - before;
  };
  for (const header of headers.slice(0, 1_000)) authenticator.identify(header);
  expect(hitsOf(0)).toBe(1);
  expect(hitsOf(1_000)).toBe(0);
  expect(hitsOf(0)).toBe(1);
  expect(hitsOf(1)).toBe(0);
  expect(count.evictions).toBe(2);
});

test('two Authorization headers are refused, with any value', () => {
  const { authenticator } = open();
  const header = `Bearer ${sign({ role: 'a' })}`;
  expect(() => authenticator.identify([header, header])).toThrow(
    'More than one Authorization header is sent',
  );
});
