import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AcmeAuthority } from '../../harness/acme-authority.ts';
import { startOrdering } from './ordering.ts';

const TOKEN = 'a'.repeat(43);

/** An authorization as an authority may make it up. */
function authorizationFor(
  { base }: AcmeAuthority,
  { value, token = TOKEN }: { readonly value: string; readonly token?: string | undefined },
  type: string,
): string {
  const challenge = { type, url: `${base}/challenge/10`, status: 'pending', ...(token !== '' && { token }) };
  return JSON.stringify({ status: 'pending', identifier: { type: 'dns', value }, challenges: [challenge] });
}

const cases = [
  {
    it: 'a proof for a name that was not ordered',
    value: 'other.test',
    says: 'the authority demands a proof for "other.test", which was not ordered',
  },
  {
    it: 'a handshake for a name that was not ordered',
    type: 'tls-alpn-01',
    value: 'other.test',
    says: 'the authority demands a proof for "other.test", which was not ordered',
  },
  {
    it: 'a proof for a zone above the name',
    value: 'test',
    says: 'the authority demands a proof for "test", which was not ordered',
  },
  {
    it: 'a proof for a name with a line end',
    value: 'a.test\n1970/01/01 [emerg] made up',
    says: 'an identifier is neither a name nor an address',
  },
  {
    it: 'the same proof twice',
    value: 'a.test',
    identifiers: 'a.test b.test',
    says: 'the authority demands two proofs for "a.test"',
  },
  {
    it: 'a proof without a token',
    value: 'a.test',
    token: '',
    says: 'the challenge for "a.test" has no token',
  },
];

for (const { it, value, token, identifiers, says, type = 'dns-01' } of cases)
  test(`an authority that demands ${it} gets nothing by ${type}`, async (t) => {
    const { gw, authority } = await startOrdering(t, {
      issuer: `challenge ${type}; dns_wait 10ms; dns_hook /bin/sh DIR/hook.sh DIR;`,
      files: { 'hook.sh': 'echo "$@" >> "$1/calls"\n' },
      identifiers,
      prepare: (opened) =>
        opened.fail(
          'authorization',
          { status: 200, body: authorizationFor(opened, { value, token }, type) },
          100,
        ),
    });
    const [, line] = await gw.waitForLog(
      /\[error\] [\d#]+: certificate "[^"]+" of issuer "le": (.*); next try at \S+Z\n/,
    );
    expect(line).toBe(says);
    expect(gw.errorLog()).not.toContain('\n1970');
    expect(existsSync(join(gw.dir, 'calls'))).toBe(false);
    expect(authority.asked).not.toContain('challenge');
  });
