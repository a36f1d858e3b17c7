import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Hold } from '../../harness/acme-authority.ts';
import { shownCertificate, startOrdering } from './ordering.ts';

/** The steps of an order, in their order. */
const STEPS = [
  'directory',
  'newNonce',
  'newAccount',
  'newOrder',
  'authorization',
  'challenge',
  'finalize',
  'certificate',
] as const;

for (const step of STEPS)
  test(`killed at the step "${step}", the next start has one certificate and the same account`, async (t) => {
    const holds: Hold[] = [];
    const { gw, authority, ports } = await startOrdering(t, {
      authority: { reuses: false },
      prepare: (opened) => holds.push(opened.hold(step)),
    });
    await holds[0]?.reached;
    await gw.stop('SIGKILL');
    holds[0]?.release();
    const from = gw.errorLog().length;
    gw.start();
    await gw.waitForLog(/start worker processes/, from);
    if (!(await shownCertificate(ports.tls, 'a.test'))) await gw.waitForLog(/of issuer "le": issued/, from);
    expect((await shownCertificate(ports.tls, 'a.test'))?.subjectAltName).toBe('DNS:a.test');
    expect(authority.accounts).toHaveLength(1);
    expect(authority.issued).toHaveLength(1);
    const folder = join(gw.dir, 'state', 'certificates', 'a.test');
    expect(readdirSync(folder).filter((name) => name.endsWith('.new') || name === 'order.json')).toEqual([]);
  });

test('a pair that is broken is one error, and is ordered anew', async (t) => {
  const { gw, authority, ports } = await startOrdering(t);
  await gw.waitForLog(/of issuer "le": issued/);
  await gw.stop();
  const file = join(gw.dir, 'state', 'certificates', 'a.test', 'pair.pem');
  expect(existsSync(file)).toBe(true);
  writeFileSync(file, '-----BEGIN CERTIFICATE-----\nhalf');
  const from = gw.errorLog().length;
  gw.start();
  await gw.waitForLog(/of issuer "le": issued/, from);
  expect(
    gw
      .errorLog()
      .slice(from)
      .match(/\[error\].*/g),
  ).toHaveLength(1);
  expect(authority.issued).toHaveLength(2);
  expect(await shownCertificate(ports.tls, 'a.test')).toBeDefined();
});
