import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AcmeAuthority } from '../../harness/acme-authority.ts';
import { startDnsServer } from '../../harness/dns-server.ts';
import { shownCertificate, startOrdering } from './ordering.ts';

/** Records its calls, and ends as its first argument says. */
const HOOK = `#!/bin/sh
echo "$@" >> "$1/calls"
env > "$1/env"
case "$2" in
  fails) echo "no such zone: $5" >&2; exit 3;;
  sleeps) exec sleep 100;;
esac
`;

/** Shows the authority what the hook was called with. */
function follow(authority: AcmeAuthority, dir: string): () => void {
  const timer = setInterval(() => {
    const path = join(dir, 'calls');
    if (!existsSync(path)) return;
    const shown = new Map<string, string[]>();
    for (const line of readFileSync(path, 'utf8').trim().split('\n')) {
      const [, , action, name = '', value = ''] = line.split(' ');
      if (action === 'present') shown.set(name, [...(shown.get(name) ?? []), value]);
    }
    for (const [name, values] of shown) authority.network.txt.set(name, values);
  }, 2);
  return () => clearInterval(timer);
}

test('a name and its wildcard are proved by the records of a hook, which takes both away again', async (t) => {
  const { gw, authority, ports } = await startOrdering(t, {
    issuer: 'challenge dns-01; dns_wait 300ms; dns_hook /bin/sh DIR/hook.sh DIR ends;',
    // The authority refuses names that a wildcard beside them covers.
    names: 'a.test *.a.test www.a.test',
    files: { 'hook.sh': HOOK },
    env: { SECRET_OF_THE_TEST: 'hidden' },
  });
  t.onTestFinished(follow(authority, gw.dir));
  await gw.waitForLog(/certificate "a\.test-[0-9a-f]+" of issuer "le": issued/);
  expect((await shownCertificate(ports.tls, 'x.a.test'))?.subjectAltName).toBe('DNS:a.test, DNS:*.a.test');
  const calls = readFileSync(join(gw.dir, 'calls'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ').slice(1));
  expect(calls.map(([, action, name]) => `${action} ${name}`)).toEqual([
    'present _acme-challenge.a.test',
    'present _acme-challenge.a.test',
    'cleanup _acme-challenge.a.test',
    'cleanup _acme-challenge.a.test',
  ]);
  expect(new Set(calls.slice(0, 2).map(([, , , value]) => value)).size).toBe(2);
  expect(
    calls
      .slice(2)
      .map(([, , , value]) => value)
      .toSorted(byText),
  ).toEqual(
    calls
      .slice(0, 2)
      .map(([, , , value]) => value)
      .toSorted(byText),
  );
  expect(readFileSync(join(gw.dir, 'env'), 'utf8')).not.toContain('hidden');
});

test('a hook that fails is one line with its last words, without the value, and cleans up all the same', async (t) => {
  const { gw } = await startOrdering(t, {
    issuer: 'challenge dns-01; dns_wait 10ms; dns_hook /bin/sh DIR/hook.sh DIR fails;',
    files: { 'hook.sh': HOOK },
  });
  const [, line = ''] = await gw.waitForLog(/\[error\] [\d#]+: (certificate[^\n]*next try at[^\n]*)/);
  expect(line).toContain(
    '"dns_hook present _acme-challenge.a.test" ended with code 3: no such zone: …; next try at',
  );
  const calls = readFileSync(join(gw.dir, 'calls'), 'utf8')
    .trim()
    .split('\n')
    .map((one) => one.split(' '));
  expect(calls.map(([, , action]) => action)).toEqual(['present', 'cleanup']);
  expect(gw.errorLog()).not.toContain(calls[0]?.[4] ?? 'no value');
});

test('a record of dns-persist-01 is looked up before anything is ordered', async (t) => {
  const dns = await startDnsServer(t, {});
  const { gw, authority, ports } = await startOrdering(t, {
    issuer: 'challenge dns-persist-01;',
    http: `resolver 127.0.0.1:${dns.port};`,
  });
  await gw.waitForLog(
    /there is no TXT record at "_validation-persist\.a\.test": expected "ISSUER-DOMAIN; accounturi=http[^"]*"; next try at/,
  );
  expect(authority.orders).toHaveLength(0);
  const [{ url } = { url: '' }] = authority.accounts;
  const [domain = ''] = authority.network.issuerDomains;
  const text = `${domain}; accounturi=${url}`;
  dns.names.set('_validation-persist.a.test', { texts: ['something else', text] });
  authority.network.txt.set('_validation-persist.a.test', [text]);
  const from = gw.errorLog().length;
  gw.lay({ 'state/requests/renew-a.test': '' });
  await gw.waitForLog(/of issuer "le": issued/, from);
  expect(await shownCertificate(ports.tls, 'a.test')).toBeDefined();
});

function byText(one = '', other = ''): number {
  return one.localeCompare(other);
}
