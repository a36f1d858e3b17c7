import { expect, test } from 'vitest';
import { perTier } from '../../harness/tier.ts';
import { shownCertificate, startOrdering } from './ordering.ts';

const NAMES = perTier({ short: 30, long: 1_000 });

test(`${NAMES} sites get their certificates, a few at a time, and all of them serve after a restart`, async (t) => {
  const names = Array.from({ length: NAMES }, (_, at) => `s${at}.test`);
  const { gw, authority, ports } = await startOrdering(t, {
    workers: 2,
    authority: { hasRenewalInfo: false },
    http: names
      .map(
        (name) =>
          `server { listen 127.0.0.1:PLAIN; listen 127.0.0.1:TLS ssl; server_name ${name}; acme_certificate le; }`,
      )
      .join('\n'),
  });
  const issued = (): number => gw.errorLog().match(/issued, valid until/g)?.length ?? 0;
  await expect.poll(issued, { timeout: 600_000, interval: 100 }).toBe(NAMES + 1);
  expect(authority.issued).toHaveLength(NAMES + 1);
  await gw.stop();
  authority.isAway = true;
  const from = gw.errorLog().length;
  gw.start();
  await gw.waitForLog(/start worker processes/, from);
  for (const name of names.slice(0, 20))
    expect((await shownCertificate(ports.tls, name))?.subjectAltName).toBe(`DNS:${name}`);
  expect(authority.accounts).toHaveLength(1);
  expect(gw.errorLog()).not.toMatch(/\[(?:error|crit|alert)\]/);
}, 900_000);
