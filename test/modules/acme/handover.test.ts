import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AcmeAuthority, Hold } from '../../harness/acme-authority.ts';
import type { Gateway } from '../../harness/gateway.ts';
import { installation, OTHER_VERSION, upgraded } from '../../master/installed.ts';
import { masterPid } from '../../master/processes.ts';
import { orderingConf, shownCertificate, startOrdering } from './ordering.ts';

const ISSUED = /certificate "a\.test" of issuer "le": issued/;
/** The steps at which an order is interrupted. */
const STEPS = ['newAccount', 'newOrder', 'challenge', 'finalize', 'certificate'] as const;

/** Makes the worker of a file `crash-WORKER` crash, or hang for a time that is longer than a silence is taken for. */
const BREAKER = `
const { workerData } = require('node:worker_threads');
const { existsSync, rmSync } = require('node:fs');
const cell = new Int32Array(new SharedArrayBuffer(4));
const id = workerData?.workerId;
if (id) setInterval(() => {
  const [crash, hang] = ['crash-' + id, 'hang-' + id];
  if (existsSync(hang)) { rmSync(hang); for (;;) Atomics.wait(cell, 0, 0, 5); }
  if (existsSync(crash)) { rmSync(crash); throw new Error('as the test wants'); }
}, 5).unref();
`;
const BREAKABLE = {
  files: { 'breaker.cjs': BREAKER },
  env: { NODE_OPTIONS: '--require ./breaker.cjs' },
  workers: 2,
  expectAlerts: true,
} as const;

/** The worker that orders; empty before it has an account. */
function orderer(gw: Gateway): string {
  const found = /\[notice\] \d+#(\d+): issuer "le": the authority has the account/.exec(gw.errorLog());
  return found?.[1] ?? '';
}

/** What every one of these tests ends with. */
async function expectOne(
  { gw, authority, tls }: { gw: Gateway; authority: AcmeAuthority; tls: number },
  from = 0,
): Promise<void> {
  await gw.waitForLog(ISSUED, from);
  expect((await shownCertificate(tls, 'a.test'))?.subjectAltName).toBe('DNS:a.test');
  expect(authority.accounts).toHaveLength(1);
  expect(authority.issued).toHaveLength(1);
  expect(gw.errorLog()).not.toMatch(/\[error\]/);
}

for (const step of STEPS)
  for (const act of step === 'finalize' ? (['crash', 'hang'] as const) : (['crash'] as const))
    test(`another worker goes on with the order if the one that orders ${act === 'hang' ? 'hangs' : 'crashes'} at the step "${step}"`, async (t) => {
      const holds: Hold[] = [];
      const { gw, authority, ports } = await startOrdering(t, {
        ...BREAKABLE,
        prepare: (opened) => holds.push(opened.hold(step)),
      });
      await holds[0]?.reached;
      // Before there is an account, no line says which worker orders: both crash, one after the other.
      const from = gw.errorLog().length;
      for (const id of orderer(gw) === '' ? ['1', '2'] : [orderer(gw)]) {
        const at = gw.errorLog().length;
        writeFileSync(join(gw.dir, `${act}-${id}`), '');
        // Only the worker's own time counts: on a busy machine, its two seconds take long.
        if (act === 'hang') await gw.waitForLog(/does not respond/, at);
        await gw.waitForLog(/was started again/, at);
      }
      holds[0]?.release();
      await expectOne({ gw, authority, tls: ports.tls }, from);
    });

for (const step of STEPS)
  test(`an order goes on after a reload at the step "${step}"`, async (t) => {
    const holds: Hold[] = [];
    const { gw, authority, ports } = await startOrdering(t, {
      workers: 2,
      prepare: (opened) => holds.push(opened.hold(step)),
    });
    await holds[0]?.reached;
    const conf = (http: string): string => orderingConf(authority, ports, { http })(gw.dir);
    expect(await gw.reload(conf('server_tokens off;'))).toBe('done');
    holds[0]?.release();
    await expectOne({ gw, authority, tls: ports.tls });
  });

test('a reload in the middle of an order adds a certificate, which the same account orders', async (t) => {
  const holds: Hold[] = [];
  const { gw, authority, ports } = await startOrdering(t, {
    prepare: (opened) => holds.push(opened.hold('finalize')),
  });
  await holds[0]?.reached;
  const http = 'server { server_name b.test; acme_certificate le; }';
  expect(await gw.reload(orderingConf(authority, ports, { http })(gw.dir))).toBe('done');
  holds[0]?.release();
  await Promise.all(['a', 'b'].map((name) => gw.waitForLog(new RegExp(`"${name}\\.test" .*: issued`))));
  expect(authority.accounts).toHaveLength(1);
  expect(authority.issued).toHaveLength(2);
  expect((await shownCertificate(ports.tls, 'a.test'))?.subjectAltName).toBe('DNS:a.test');
});

test('a reload without the issuer ends its order, and one that brings it back goes on with it', async (t) => {
  const holds: Hold[] = [];
  const { gw, authority, ports } = await startOrdering(t, {
    prepare: (opened) => holds.push(opened.hold('finalize')),
  });
  await holds[0]?.reached;
  expect(await gw.reload(`server { listen 127.0.0.1:${ports.plain}; return 200 ok; }`)).toBe('done');
  holds[0]?.release();
  expect(await shownCertificate(ports.tls, 'a.test')).toBeUndefined();
  const from = gw.errorLog().length;
  expect(await gw.reload(orderingConf(authority, ports, {})(gw.dir))).toBe('done');
  await expectOne({ gw, authority, tls: ports.tls }, from);
  expect(authority.orders).toHaveLength(1);
});

for (const step of ['newOrder', 'finalize'] as const)
  test(
    `an upgrade at the step "${step}" has one account and one certificate`,
    { timeout: 120_000 },
    async (t) => {
      const holds: Hold[] = [];
      const { program, install } = installation(t);
      const { gw, authority, ports } = await startOrdering(t, {
        program,
        supervised: true,
        workers: 2,
        prepare: (opened) => holds.push(opened.hold(step)),
      });
      await holds[0]?.reached;
      const former = masterPid(gw);
      install(OTHER_VERSION);
      expect(await upgraded(gw)).toMatchObject({ isDone: true });
      expect(masterPid(gw)).not.toBe(former);
      holds[0]?.release();
      await expectOne({ gw, authority, tls: ports.tls });
      expect(JSON.parse(readFileSync(join(gw.dir, 'state', 'lock'), 'utf8'))).toMatchObject({
        pid: masterPid(gw),
      });
    },
  );

test('two gateways with one directory: one orders, the other one serves what it stores, and goes on after it', async (t) => {
  const { gw, authority, ports } = await startOrdering(t);
  await gw.waitForLog(ISSUED);
  const second = await startOrdering(t, { issuer: `state_path ${join(gw.dir, 'state')};` });
  await second.gw.waitForLog(
    /process \d+ orders the certificates in ".*state"; those that are stored serve here, too/,
  );
  const shown = await Promise.all([ports, second.ports].map(({ tls }) => shownCertificate(tls, 'a.test')));
  expect(shown[0]).toBeDefined();
  expect(shown[1]?.fingerprint256).toBe(shown[0]?.fingerprint256);
  expect([authority.issued.length, second.authority.accounts.length]).toEqual([1, 0]);
  await gw.stop('SIGKILL');
  const from = second.gw.errorLog().length;
  second.gw.lay({ [join('..', gw.dir.split('/').at(-1) ?? '', 'state/requests/renew-a.test')]: '' });
  await second.gw.waitForLog(ISSUED, from);
  expect(second.authority.accounts).toHaveLength(1);
});
