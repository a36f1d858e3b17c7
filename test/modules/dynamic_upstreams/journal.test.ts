import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Gateway, oneGateway, startGateway } from '../../harness/gateway.ts';
import { perTier } from '../../harness/tier.ts';

const load = oneGateway({ workers: 2 });

const confOf = (servers: string): string =>
  `upstream app { ${servers} dynamic_upstreams_managed; }
   server {
     location = /app { dynamic_upstreams_api; dynamic_upstreams_target app; dynamic_upstreams_journal state/app.json; }
     location = /metrics { control_api metrics; }
   }`;

const SERVERS = 'server 10.0.0.1:80;';
const PEERS = [{ address: '10.0.1.1:80', weight: 2 }, { address: '10.0.1.2:80' }];

interface GroupState {
  readonly generation: number;
  readonly restored_from_journal: boolean;
  readonly restore_error_code?: number;
  readonly peers: readonly { readonly address: string; readonly state: string }[];
}

const show = async (gw: Gateway): Promise<GroupState> =>
  JSON.parse((await gw.fetch('/app')).body) as GroupState;

const put = (gw: Gateway, peers: readonly object[]) =>
  gw.fetch('/app', {
    method: 'PUT',
    body: JSON.stringify({ peers }),
    headers: { 'Content-Type': 'application/json' },
  });

const addresses = ({ peers }: Pick<GroupState, 'peers'>): string =>
  peers.map(({ address }) => address).join(' ');

const journalOf = (more: object): string =>
  JSON.stringify({
    schema: 1,
    target: 'app',
    source: 'static',
    generation: 41,
    persisted_at_msec: 1_790_000_000_000,
    peers: PEERS,
    draining: ['10.0.1.2:80'],
    ...more,
  });

test('a link in place of the temporary file of a journal is not followed', async (t) => {
  const gw = await load(t, confOf(SERVERS), { 'state/none': '', victim: 'untouched' });
  const pid = gw.pid;
  for (const worker of [1, 2]) symlinkSync('../victim', join(gw.dir, `state/app.json.${pid}.${worker}.new`));
  await put(gw, PEERS);
  expect(JSON.parse(readFileSync(join(gw.dir, 'state/app.json'), 'utf8'))).toMatchObject({ target: 'app' });
  expect(readFileSync(join(gw.dir, 'victim'), 'utf8')).toBe('untouched');
});

test('the journal has the set before the response, readable by its owner only', async (t) => {
  const gw = await load(t, confOf(SERVERS), { 'state/none': '' });
  await put(gw, PEERS);
  const journal = JSON.parse(readFileSync(join(gw.dir, 'state/app.json'), 'utf8')) as Record<string, unknown>;
  expect(journal).toMatchObject({ schema: 1, target: 'app', source: 'static', generation: 1, draining: [] });
  expect((journal['peers'] as { address: string }[]).map(({ address }) => address)).toEqual([
    '10.0.1.1:80',
    '10.0.1.2:80',
  ]);
});

test('a journal of another program, without the servers of the configuration, is taken over', async (t) => {
  const gw = await load(t, confOf(`${SERVERS} server 10.0.0.2:80;`), { 'state/app.json': journalOf({}) });
  const shown = await show(gw);
  expect(shown).toMatchObject({ generation: 41, restored_from_journal: true });
  expect(shown.peers.map(({ state }) => state)).toEqual(['up', 'draining']);
});

test('a journal that belongs to other servers of the configuration is not used', async (t) => {
  const files = { 'state/app.json': journalOf({ configured: 'other' }) };
  const gw = await load(t, confOf(`${SERVERS} server 10.0.0.3:80;`), files);
  expect(await show(gw)).toMatchObject({ generation: 0, restored_from_journal: false });
});

const damages = [
  { text: '', reason: 'Unexpected end of JSON input' },
  { text: '{"schema":2}', reason: '"schema" is not 1' },
  { text: journalOf({ target: 'other' }), reason: '"target" is not "app"' },
  { text: journalOf({ generation: -1 }), reason: '"generation" is not a number from 0' },
  { text: journalOf({ draining: [1] }), reason: '"draining" is not a list of texts' },
  { text: journalOf({ peers: [] }), reason: 'peers must not be empty' },
  {
    text: journalOf({ peers: [{ address: 'nowhere' }] }),
    reason: 'peers[0].address must be an IP address with a port',
  },
] as const;

for (const [nth, { text, reason }] of damages.entries()) {
  test(`a damaged journal keeps the servers of the configuration and is reported: ${reason}`, async (t) => {
    const gw = await load(t, confOf(SERVERS), { 'state/app.json': text });
    const from = gw.errorLog().length;
    expect(await gw.reload(confOf(`${SERVERS} server 10.0.2.${nth}:80;`))).toBe('done');
    const [line] = await gw.waitForLog(/\[warn\].*journal .*/, from);
    expect(line).toContain(reason);
    expect(await show(gw)).toMatchObject({
      generation: 0,
      restored_from_journal: false,
      restore_error_code: 5002,
    });
  });
}

test('changes succeed if the journal cannot be written, which is logged and counted', async (t) => {
  const gw = await load(
    t,
    confOf(`${SERVERS} server 10.0.0.4:80;`).replace('state/app.json', 'state/none/app.json'),
    {
      'state/none': '',
    },
  );
  const { status } = await put(gw, PEERS);
  expect(status).toBe(200);
  await gw.waitForLog(/\[error\].*state\/none\/app\.json/);
  await expect
    .poll(async () => (await gw.fetch('/metrics')).body)
    .toContain('gw_upstream_journal_errors_total{upstream="app"} 1');
});

test(
  'a gateway that is killed while it changes its set starts with the set of the last response, or a newer one',
  { timeout: perTier({ short: 60_000, long: 3_600_000 }) },
  async (t) => {
    const options = { workers: 2, expectAlerts: true, files: { 'state/none': '' } };
    const gw = await startGateway(t, confOf(SERVERS), options);
    await put(gw, PEERS);
    let sent = 0;
    let confirmed = 0;
    const setOf = (nth: number): readonly object[] => [
      { address: `10.1.${nth >> 8}.${nth & 255}:80` },
      { address: '10.2.0.1:80' },
    ];
    for (let accident = 0; accident < perTier({ short: 6, long: 1000 }); accident++) {
      let isKilled = false;
      const lane = async (): Promise<void> => {
        while (!isKilled) {
          const nth = ++sent;
          const response = await put(gw, setOf(nth)).catch(() => undefined);
          if (response?.status === 200) confirmed = Math.max(confirmed, nth);
        }
      };
      const writing = lane();
      await sleep(20 + ((accident * 37) % 100));
      isKilled = true;
      await Promise.all([gw.stop('SIGKILL'), writing]);
      gw.start();
      await expect.poll(() => show(gw).catch(() => undefined), { timeout: 10_000 }).toBeDefined();
      const shown = await show(gw);
      if (confirmed === 0) continue;
      const candidates = Array.from({ length: sent - confirmed + 1 }, (_, more) => confirmed + more).map(
        (nth) => addresses({ peers: setOf(nth) as GroupState['peers'] }),
      );
      expect(shown.restored_from_journal).toBe(true);
      expect(candidates).toContain(addresses(shown));
    }
    expect(confirmed).toBeGreaterThan(4);
    // A process that was killed while it wrote leaves a file beside the journal, which the next one removes.
    expect(readdirSync(join(gw.dir, 'state')).filter((name) => name.endsWith('.new'))).toEqual([]);
  },
);
