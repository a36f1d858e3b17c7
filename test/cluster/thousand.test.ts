import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { RedisStore, sealEntry, type StoreOwner } from '../../src/cluster/index.ts';
import { redis, type TestRedis } from '../harness/redis.ts';
import { perTier } from '../harness/tier.ts';

const NODES = perTier({ short: 50, long: 1_000 });
const SECONDS = perTier({ short: 2, long: 10 });
const RATES = perTier({ short: [10], long: [1, 10, 100] });
const BATCH_MS = 50;
/** As of a payload of some 300 bytes. */
const FIELDS = ['channel', 'news', 'type', 'purged', 'time', '1790000000000', 'payload', 'x'.repeat(300)];
const SEAL = { secret: 'a secret of the tests', namespace: 'sim' };
const STREAM = 'ev:bus';

/** What a gateway does with the store, without a gateway: it reads, pauses after what it got, and reads on. */
class LightNode {
  readonly store: RedisStore;
  readonly #name: string;
  #sequence = 0;
  #isDone = false;
  received = 0;
  position = 0;

  constructor(name: string, { host, port }: TestRedis, up: () => void) {
    const owner: StoreOwner = { up, down: () => undefined };
    const backend = { kind: 'server', endpoint: { kind: 'inet', host, port } } as const;
    this.store = new RedisStore({ backend, namespace: 'sim', retain: 100_000, timeoutMs: 10_000 }, owner);
    this.#name = name;
  }

  async publish(): Promise<void> {
    const entry = { origin: this.#name, incarnation: 'i', sequence: (this.#sequence += 1), fields: FIELDS };
    await this.store.append(STREAM, [sealEntry(SEAL, STREAM, entry)]);
  }

  async follow(): Promise<void> {
    while (!this.#isDone) {
      const found = await this.store.read(new Map([[STREAM, this.position]]), 5_000).catch(() => new Map());
      const entries = (found.get(STREAM) ?? []) as readonly { counter: number }[];
      this.received += entries.length;
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

/** Publishes at a rate, waits until all nodes have all entries, and tells what that took. */
async function measure(server: TestRedis, nodes: readonly LightNode[], rate: number): Promise<string> {
  const before = await factsOf(server);
  const begunMs = performance.now();
  const entries = rate * SECONDS;
  const expected = (nodes[0] as LightNode).received + entries;
  for (let sent = 0; sent < entries; sent += 1) {
    await (nodes[sent % nodes.length] as LightNode).publish();
    await sleep(1_000 / rate);
  }
  await expect
    .poll(() => nodes.every(({ received }) => received === expected), { timeout: 60_000 })
    .toBe(true);
  const after = await factsOf(server);
  const seconds = (performance.now() - begunMs) / 1_000;
  // A machine that is too slow for all these nodes gets less through than it was asked for.
  const perSecond = entries / seconds;
  const formula = Math.round(nodes.length * Math.min(perSecond, 1_000 / BATCH_MS));
  const reads = Math.round((after.reads - before.reads) / seconds);
  const bytes = Math.round((after.outBytes - before.outBytes) / (entries * nodes.length));
  return (
    `${nodes.length} nodes, ${perSecond.toFixed(1)} entries/s (of ${rate}): ${reads} reads/s ` +
    `(at most ${formula} by the formula), ${bytes} bytes out per node and entry`
  );
}

test('many nodes of one store: each gets each entry, with as many reads and bytes as the guide says', async (t) => {
  const server = await redis('--maxclients', '10000', '--databases', '21');
  const empty = await factsOf(server);
  let up = 0;
  const nodes = Array.from({ length: NODES }, (_, i) => new LightNode(`n${i}`, server, () => (up += 1)));
  t.onTestFinished(() => {
    for (const node of nodes) node.close();
  });
  await expect.poll(() => up, { timeout: 60_000 }).toBe(NODES);
  for (const node of nodes) void node.follow();
  await sleep(1_000);
  const told: string[] = [];
  for (const rate of RATES) told.push(await measure(server, nodes, rate));
  const { usedBytes } = await factsOf(server);
  const perConnection = Math.round((usedBytes - empty.usedBytes) / (2 * NODES) / 1024);
  told.push(`${perConnection} KiB per connection, entries included`);
  // Only told, never asserted: it depends on the machine.
  console.info(told.join('\n'));
}, 600_000);
