import { expect, test, vi } from 'vitest';
import { openAuthenticator } from '../../../src/modules/dbrest/auth/index.ts';
import { tokenMetrics } from '../../../src/modules/dbrest/metrics.ts';
import { aloneCounters } from '../../harness/counters.ts';
import { inSeconds, SECRET, sign } from './tokens.ts';

const open = () =>
  openAuthenticator(
    { kind: 'secret', secret: SECRET },
    {
      anonRole: undefined,
      rolePath: ['role'],
      audience: undefined,
      invalid: 'reject',
      loginRole: 'login',
      metrics: tokenMetrics(aloneCounters()),
    },
  );

test('a token is verified once, and then found in the cache', async () => {
  const authenticator = await open();
  const header = [`Bearer ${sign({ role: 'a' })}`];
  const first = authenticator.identify(header);
  expect(first).toBeInstanceOf(Promise);
  expect(authenticator.identify(header)).toBeInstanceOf(Promise);
  await first;
  expect(authenticator.identify(header)).toMatchObject({ role: 'a' });
});

test('a cached token expires', async () => {
  const authenticator = await open();
  const startedMs = Date.now();
  const header = [`Bearer ${sign({ role: 'a', exp: inSeconds(10) })}`];
  await authenticator.identify(header);
  vi.useFakeTimers({ now: startedMs + 39_000, toFake: ['Date'] });
  try {
    expect(authenticator.identify(header)).toMatchObject({ role: 'a' });
    vi.setSystemTime(startedMs + 42_000);
    expect(() => authenticator.identify(header)).toThrow('JWT expired');
  } finally {
    vi.useRealTimers();
  }
});

test('tokens with the same beginning are distinct', async () => {
  const authenticator = await open();
  const token = sign({ role: 'a' });
  await authenticator.identify([`Bearer ${token}`]);
  await expect(authenticator.identify([`Bearer ${token.slice(0, -2)}xx`])).rejects.toThrow('No suitable key');
});

test('a thousand tokens are cached, and the least recently used is removed first', async () => {
  const authenticator = await open();
  const headers = Array.from({ length: 1_001 }, (_, n) => [`Bearer ${sign({ role: 'a', n })}`]);
  for (const header of headers.slice(0, 1_000)) await authenticator.identify(header);
  expect(authenticator.identify(headers[0] as string[])).not.toBeInstanceOf(Promise);
  await authenticator.identify(headers[1_000] as string[]);
  expect(authenticator.identify(headers[0] as string[])).not.toBeInstanceOf(Promise);
  expect(authenticator.identify(headers[1] as string[])).toBeInstanceOf(Promise);
});

test('two Authorization headers are refused, with any value', async () => {
  const authenticator = await open();
  const header = `Bearer ${sign({ role: 'a' })}`;
  expect(() => authenticator.identify([header, header])).toThrow(
    'More than one Authorization header is sent',
  );
});
