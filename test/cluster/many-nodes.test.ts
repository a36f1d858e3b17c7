import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, type TestContext } from 'vitest';
import { type ClusterStore, sealEntry, type StoredEntry } from '../../src/cluster/index.ts';
import { redis, type TestRedis } from '../harness/redis.ts';
import { perTier } from '../harness/tier.ts';
import { gatewayDsn, ownDatabase, storeAt } from './stores.ts';

const NODES = perTier({ short: 50, long: 1_000 });
const SECONDS = perTier({ short: 2, long: 10 });
const RATES = perTier({ short: [10], long: [1, 10, 100] });
/** The most that the guide names for PostgreSQL. */
const POSTGRES_NODES = perTier({ short: 10, long: 50 });
const POSTGRES_RATE = 50;
const BATCH_MS = 50;
/** As of a payload of some 300 bytes. */
const FIELDS = ['channel', 'news', 'type', 'purged', 'time', '1790000000000', 'payload', 'x'.repeat(300)];
const SEAL = { secret: 'a secret of the tests', namespace: 'sim' };
const OPTIONS = { namespace: 'sim', retain: 100_000, timeoutMs: 10_000 };
const STREAM = 'ev:bus';

/** What a gateway does with the store, without a gateway: it reads, pauses after what it got, and reads on. */
class LightNode {
  readonly store: ClusterStore;
  readonly #name: string;
  #sequence = 0;
  #isDone = false;
  received = 0;
  position = 0;
  /** How old entries were when they came, in ms. */
  readonly agesMs: number[] = [];

  constructor(name: string, url: string, up: () => void) {
    this.store = storeAt(url, OPTIONS, { up, down: () => undefined, partlyDown: () => undefined });
    this.#name = name;
  }

  async publish(): Promise<void> {
    const fields = [...FIELDS, 'sent', String(performance.now())];
    const entry = { origin: this.#name, incarnation: 'i', sequence: (this.#sequence += 1), fields };
    await this.store.append(STREAM, [sealEntry(SEAL, STREAM, entry)]);
  }

  async follow(): Promise<void> {
    while (!this.#isDone) {
      const found = await this.store.read(new Map([[STREAM, this.position]]), 5_000).catch(() => new Map());
      const entries = (found.get(STREAM) ?? []) as readonly StoredEntry[];
      this.received += entries.length;
      for (const { fields } of entries) this.agesMs.push(performance.now() - Number(fields.at(-1)));
      this.position = entries.at(-1)?.counter ?? this.position;
      if (entries.length > 0) await sleep(BATCH_MS);
    }
  }

  close(): void {
    this.#isDone = true;
    this.store.close();
  }
}

async function factsOf({
  client,
}: TestRedis): Promise<{ reads: number; outBytes: number; usedBytes: number }> {
  const [stats, commands, memory] = await Promise.all([
    client.info('stats'),
    client.info('commandstats'),
    client.info('memory'),
  ]);
  const number = (text: string, name: RegExp): number => Number(name.exec(text)?.[1] ?? 0);
  return {
    reads: number(commands, /cmdstat_xread:calls=(\d+)/),
    outBytes: number(stats, /total_net_output_bytes:(\d+)/),
    usedBytes: number(memory, /used_memory:(\d+)/),
  };
}

/** Publishes at a rate, and waits until all nodes have all entries. Gives how many entries a second that were. */
async function publish(nodes: readonly LightNode[], rate: number): Promise<number> {
  const begunMs = performance.now();
  const entries = rate * SECONDS;
  const expected = (nodes[0] as LightNode).received + entries;
  for (let sent = 0; sent < entries; sent += 1) {
    await (nodes[sent % nodes.length] as LightNode).publish();
    await sleep(begunMs + ((sent + 1) * 1_000) / rate - performance.now());
  }
  await expect
    .poll(() => nodes.every(({ received }) => received === expected), { timeout: 60_000 })
    .toBe(true);
  // A machine that is too slow for all these nodes gets less through than it was asked for.
  return (entries * 1_000) / (performance.now() - begunMs);
}

/** Publishes at a rate, and tells what that took. */
async function measure(server: TestRedis, nodes: readonly LightNode[], rate: number): Promise<string> {
  const before = await factsOf(server);
  const perSecond = await publish(nodes, rate);
  const after = await factsOf(server);
  const entries = rate * SECONDS;
  const formula = Math.round(nodes.length * Math.min(perSecond, 1_000 / BATCH_MS));
  const reads = Math.round(((after.reads - before.reads) * perSecond) / entries);
  const bytes = Math.round((after.outBytes - before.outBytes) / (entries * nodes.length));
  return (
    `${nodes.length} nodes, ${perSecond.toFixed(1)} entries/s (of ${rate}): ${reads} reads/s ` +
    `(at most ${formula} by the formula), ${bytes} bytes out per node and entry`
  );
}

/** Nodes that follow the stream, until the test ends. */
async function startNodes(t: TestContext, url: string, count: number): Promise<readonly LightNode[]> {
  let up = 0;
  const nodes = Array.from({ length: count }, (_, i) => new LightNode(`n${i}`, url, () => (up += 1)));
  t.onTestFinished(() => {
    for (const node of nodes) node.close();
  });
  await expect.poll(() => up, { timeout: 60_000 }).toBe(count);
  for (const node of nodes) void node.follow();
  await sleep(1_000);
  return nodes;
}

test('many nodes of one Redis: each gets each entry, with as many reads and bytes as the guide says', async (t) => {
  const server = await redis('--maxclients', '10000', '--databases', '21');
  const empty = await factsOf(server);
  const nodes = await startNodes(t, server.url, NODES);
  const told: string[] = [];
  for (const rate of RATES) told.push(await measure(server, nodes, rate));
  const all = RATES.reduce((sum, rate) => sum + rate * SECONDS, 0);
  expect(new Set(nodes.map(({ received }) => received))).toEqual(new Set([all]));
  const { usedBytes } = await factsOf(server);
  const perConnection = Math.round((usedBytes - empty.usedBytes) / (2 * NODES) / 1024);
  told.push(`${perConnection} KiB per connection, entries included`);
  // Only told, never asserted: it depends on the machine.
  console.info(told.join('\n'));
}, 600_000);

test('as many nodes of one PostgreSQL as the guide allows get each entry', async (t) => {
  const nodes = await startNodes(t, gatewayDsn(await ownDatabase()), POSTGRES_NODES);
  const perSecond = await publish(nodes, POSTGRES_RATE);
  expect(new Set(nodes.map(({ received }) => received))).toEqual(new Set([POSTGRES_RATE * SECONDS]));
  const agesMs = nodes.flatMap((node) => node.agesMs).sort((one, other) => one - other);
  const [median, most] = [0.5, 0.99].map((part) => Math.round(agesMs[Math.floor(agesMs.length * part)] ?? 0));
  console.info(
    `${nodes.length} nodes of PostgreSQL, ${perSecond.toFixed(1)} entries/s (of ${POSTGRES_RATE}): ` +
      `they came after ${median} ms, 99 % within ${most} ms`,
  );
}, 600_000);
