import { expect, test } from 'vitest';
import { MOVABLE_CLOCK, moveClock, shownCertificate, startOrdering } from './ordering.ts';

const DAY_MS = 86_400_000;
const YEAR_MS = 366 * DAY_MS;
const ISSUED = /"a\.test" of issuer "le": issued, valid until/;

test('an authority that is away for a week is asked ever more rarely, and the old certificate serves', async (t) => {
  const { gw, authority, ports } = await startOrdering(t, {
    ...MOVABLE_CLOCK,
    authority: { hasRenewalInfo: false },
  });
  await gw.waitForLog(ISSUED);
  const before = (await shownCertificate(ports.tls, 'a.test'))?.fingerprint256;
  authority.isAway = true;
  const levels: string[] = [];
  const awayMs = 62 * DAY_MS;
  for (let ms = awayMs; ms < awayMs + 7 * DAY_MS;) {
    const from = gw.errorLog().length;
    moveClock(gw, ms);
    const [, level = '', time = ''] = await gw.waitForLog(
      /\[(\w+)\] [\d#]+: certificate "a\.test" of issuer "le": .*; next try at (\S+Z)/,
      from,
    );
    levels.push(level);
    ms = Date.parse(time) - Date.now() + 1_000;
  }
  // After 1, 10 and 100 minutes, then daily; 20 days are left.
  expect(levels).toEqual(Array.from({ length: 10 }, () => 'warn'));
  expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).toBe(before);

  const from = gw.errorLog().length;
  moveClock(gw, 84 * DAY_MS);
  await gw.waitForLog(/\[error\] .*"a\.test".*; next try at /, from);
  authority.isAway = false;
  authority.certifier.lifetimeMs = 2 * YEAR_MS;
  moveClock(gw, 86 * DAY_MS);
  await gw.waitForLog(ISSUED, from);
  expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).not.toBe(before);
});

for (const when of ['at the start', 'while gw runs']) {
  const set = async (gw: Awaited<ReturnType<typeof startOrdering>>['gw'], ms: number): Promise<void> => {
    if (when === 'at the start') await gw.stop();
    moveClock(gw, ms);
    if (when === 'at the start') gw.start();
  };

  test(`a clock that is a year ahead ${when} costs one order and no certificate`, async (t) => {
    const { gw, authority, ports } = await startOrdering(t, MOVABLE_CLOCK);
    await gw.waitForLog(ISSUED);
    const before = (await shownCertificate(ports.tls, 'a.test'))?.fingerprint256;
    const from = gw.errorLog().length;
    await set(gw, YEAR_MS);
    await gw.waitForLog(
      /its certificate has expired at \S+ \(the clock of this machine says \S+\); next try at /,
      from,
    );
    if (when === 'at the start')
      expect(gw.errorLog().slice(from)).toMatch(/\[error\] .*"a\.test" of issuer "le": it expired at /);
    expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).toBe(before);
    moveClock(gw, 0);
    gw.lay({ 'state/requests/renew-none.test': '' });
    await gw.waitForLog(/has no certificate "none\.test" to renew/, from);
    expect(authority.orders).toHaveLength(2);
    gw.lay({ 'state/requests/renew-a.test': '' });
    await gw.waitForLog(ISSUED, from);
    expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).not.toBe(before);
  });

  test(`a clock that is a year behind ${when} costs nothing, and a new certificate serves`, async (t) => {
    const { gw, authority, ports } = await startOrdering(t, MOVABLE_CLOCK);
    await gw.waitForLog(ISSUED);
    const before = (await shownCertificate(ports.tls, 'a.test'))?.fingerprint256;
    const from = gw.errorLog().length;
    await set(gw, -YEAR_MS);
    gw.lay({ 'state/requests/renew-none.test': '' });
    await gw.waitForLog(/has no certificate "none\.test" to renew/, from);
    expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).toBe(before);
    expect(authority.orders).toHaveLength(1);
    gw.lay({ 'state/requests/renew-a.test': '' });
    await gw.waitForLog(/it is not valid before \S+: the clock of this machine may be wrong/, from);
    const renewed = (await shownCertificate(ports.tls, 'a.test'))?.fingerprint256;
    expect(renewed).not.toBe(before);
    moveClock(gw, 0);
    gw.lay({ 'state/requests/renew-other.test': '' });
    await gw.waitForLog(/has no certificate "other\.test" to renew/, from);
    expect((await shownCertificate(ports.tls, 'a.test'))?.fingerprint256).toBe(renewed);
    expect(authority.orders).toHaveLength(2);
  });
}
