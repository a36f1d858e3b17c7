import { expect, test } from 'vitest';
import type { Misbehaviour } from '../../harness/acme-authority.ts';
import { MOVABLE_CLOCK, moveClock, orderingConf, startOrdering } from './ordering.ts';

const LIMITED = (retryAfter?: string): Misbehaviour => ({
  problem: 'rateLimited',
  status: 429,
  detail: 'too many',
  ...(retryAfter !== undefined && { headers: { 'Retry-After': retryAfter } }),
});
const NAMES = Array.from({ length: 20 }, (_, at) => `s${at}.test`);
const SERVERS = NAMES.map((name) => `server { server_name ${name}; acme_certificate le; }`).join('\n');
/** Of one of them, or of many in one line. */
const LINE = /\[error\] [\d#]+: (.*rateLimited "too many"); next try at (\S+Z)/;
const MINUTE_MS = 60_000;

const countOf = (asked: readonly string[], step: string): number =>
  asked.filter((one) => one === step).length;

const pauses = [
  { it: 'as long as the authority says', retryAfter: '1800', minutes: 30 },
  { it: 'not for longer than an hour', retryAfter: '100000', minutes: 60 },
  { it: 'for a minute if the authority says nothing', retryAfter: undefined, minutes: 1 },
];

for (const { it, retryAfter, minutes } of pauses)
  test(`after too many orders, the other certificates of the issuer wait ${it}, over a restart, too`, async (t) => {
    const { gw, authority } = await startOrdering(t, {
      http: SERVERS,
      prepare: (opened) => opened.fail('newOrder', LIMITED(retryAfter), 100),
    });
    const [, what = '', time = ''] = await gw.waitForLog(LINE);
    expect(what).toMatch(/^21 certificates, "[^"]+" among them, of issuer "le": /);
    const awayMinutes = (Date.parse(time) - Date.now()) / MINUTE_MS;
    expect(awayMinutes).toBeGreaterThan(minutes - 0.5);
    expect(awayMinutes).toBeLessThanOrEqual(minutes);
    // Those that were sent at the same time.
    const asked = countOf(authority.asked, 'newOrder');
    expect(asked).toBeLessThanOrEqual(5);

    await gw.stop();
    const from = gw.errorLog().length;
    gw.start();
    await gw.waitForLog(/start worker processes/, from);
    // A request of an operator is looked at after the first orders would have been placed.
    gw.lay({ 'state/requests/renew-none.test': '' });
    await gw.waitForLog(/has no certificate "none\.test" to renew/, from);
    expect(countOf(authority.asked, 'newOrder')).toBe(asked);
  });

test('after too many accounts, nothing is asked, neither after a restart nor for certificates of a reload', async (t) => {
  const { gw, authority, ports } = await startOrdering(t, {
    prepare: (opened) => opened.fail('newAccount', LIMITED('7200'), 100),
  });
  const [, , time = ''] = await gw.waitForLog(LINE);
  expect(Math.round((Date.parse(time) - Date.now()) / MINUTE_MS)).toBe(120);
  for (const act of ['reload', 'restart'] as const) {
    const from = gw.errorLog().length;
    if (act === 'restart') {
      await gw.stop();
      gw.start();
    } else expect(await gw.reload(orderingConf(authority, ports, { http: SERVERS })(gw.dir))).toBe('done');
    gw.lay({ 'state/requests/renew-none.test': '' });
    await gw.waitForLog(/has no certificate "none\.test" to renew/, from);
    expect(countOf(authority.asked, 'newAccount')).toBe(1);
  }
});

test('after a pause, one order is tried first, and the others follow when the authority takes it', async (t) => {
  const { gw, authority } = await startOrdering(t, {
    http: `server { listen 127.0.0.1:PLAIN; location = /certificates { control_api certificates; } } ${SERVERS}`,
    ...MOVABLE_CLOCK,
    prepare: (opened) => opened.fail('newOrder', LIMITED('600'), 100),
  });
  await gw.waitForLog(LINE);
  const refused = countOf(authority.asked, 'newOrder');
  const shown = JSON.parse((await gw.fetch('/certificates')).body) as {
    certificates: { next_order: string; fault: string | null }[];
  };
  // Those that were not tried have the same reason, and the same time.
  expect(new Set(shown.certificates.map(({ fault }) => fault))).toEqual(new Set(['rateLimited "too many"']));

  let from = gw.errorLog().length;
  moveClock(gw, 11 * MINUTE_MS);
  await gw.waitForLog(LINE, from);
  expect(countOf(authority.asked, 'newOrder')).toBe(refused + 1);

  authority.behave();
  from = gw.errorLog().length;
  moveClock(gw, 22 * MINUTE_MS);
  await t.expect.poll(() => authority.issued.length, { timeout: 30_000 }).toBe(NAMES.length + 1);
  expect(gw.errorLog().slice(from)).not.toMatch(/\[(?:error|warn)\]/);
});
