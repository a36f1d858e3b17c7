import { build } from 'esbuild';
import { beforeAll, expect, test } from 'vitest';
import { memoryOf } from '../../bench/process-tree.ts';
import { generate } from '../../bench/generator/generate.ts';
import type { LoadResult } from '../../bench/generator/protocol.ts';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { IS_LONG, perTier } from '../../harness/tier.ts';
import { type Mood, type Protocol, type Signal, TroubledCollector } from './troubled-collector.ts';

/** Of the open loop. Rounds of one mood follow each other; memory is read between them. */
const LOAD = perTier({
  short: { rate: 500, rounds: 1, seconds: 1, warmUpSeconds: 0, queue: 'batch_size 64;' },
  long: { rate: 2_000, rounds: 6, seconds: 24, warmUpSeconds: 1, queue: '' },
});
const MOODS: readonly Mood[] = ['well', 'stopped', 'hung', 'busy', 'dripping', 'well'];
/** What a gateway may take more after a mood than after the first one; a minute of one signal would be 100 MB. */
const MOST_GROWTH_MB = 48;
/** Kinds of lines of one signal, each told at most once a second: a failure, and records that are dropped. */
const LINES_PER_SECOND = 2;

interface Round extends LoadResult {
  readonly mood: Mood;
  readonly rssMb: number;
}

/** Latencies are shown, not asserted; those of short rounds say nothing. */
const tell = (text: string): void => void (IS_LONG && console.log(text));

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1]!;

/** The rounds of each mood, and how its latencies compare with those of a collector that is well. */
function tableOf(protocol: Protocol, rounds: readonly Round[]): string {
  const p99Of = (of: readonly Round[]): number => median(of.map(({ latency }) => latency.p99));
  const well = p99Of(rounds.filter(({ mood }) => mood === 'well'));
  const lines = MOODS.map((mood, index) => {
    const of = rounds.slice(index * LOAD.rounds, (index + 1) * LOAD.rounds);
    const p50 = median(of.map(({ latency }) => latency.p50));
    const rss = of.map(({ rssMb }) => rssMb.toFixed(0)).join(' ');
    const requests = of.reduce((sum, { done }) => sum + done, 0);
    const ratio = (p99Of(of) / well).toFixed(3);
    const p99 = of.map(({ latency }) => latency.p99.toFixed(2)).join(' ');
    return `${mood}: ${requests} requests, p50 ${p50.toFixed(2)} ms, p99 ${ratio} of "well" (${p99} ms), RSS ${rss} MB`;
  });
  return [`${protocol}, ${LOAD.rate}/s`, ...lines].join('\n  ');
}

beforeAll(async () => {
  const entryPoints = ['test/bench/generator/main.ts'];
  await build({ entryPoints, outbase: '.', outdir: 'dist', bundle: true, platform: 'node', format: 'esm' });
});

async function play(gw: Gateway, collector: TroubledCollector): Promise<readonly Round[]> {
  const rounds: Round[] = [];
  const target = { name: 'gw', port: gw.port, requests: [{ path: '/' }], servers: [] };
  for (const mood of MOODS) {
    await collector.become(mood);
    for (let round = 0; round < LOAD.rounds; round++) {
      // The generator fails at the first status that is not 2xx, and if a response takes ten seconds.
      const load = await generate(target, LOAD);
      rounds.push({ ...load, mood, rssMb: memoryOf(gw.pid).rssBytes / 1e6 });
    }
  }
  return rounds;
}

/** The sum of the counters of a name with certain labels. */
function sumIn(page: string, name: string, labels = ''): number {
  const values = page.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, 'gm'));
  return [...values].reduce(
    (sum, [, own = '', value]) => sum + (own.includes(labels) ? Number(value) : 0),
    0,
  );
}

const COUNTED = ['exported', 'dropped', 'failed'] as const;

const countIn = (page: string, kind: string, signal: Signal): number =>
  sumIn(page, `gw_otel_${kind}_total`, `signal="${signal}"`);

/** Records that are neither taken, dropped nor failed. */
const restIn = (page: string, signal: Signal, records: number): number =>
  records - COUNTED.reduce((sum, kind) => sum + countIn(page, kind, signal), 0);

/** Lines that say why an export failed, or that records were dropped. */
const linesOf = (gw: Gateway): number => gw.errorLog().match(/ OTel \w+: /g)?.length ?? 0;

const confOf = (protocol: Protocol, port: number): string => `
  otel_exporter { endpoint 127.0.0.1:${port}; protocol ${protocol}; interval 1s; ${LOAD.queue} }
  otel_logs access; otel_metrics on; access_log off; keepalive_requests 100000000; keepalive_timeout 1h;
  server {
    location / { otel_trace on; return 200; }
    location = /metrics { control_api metrics; }
  }`;

/** Waits until every record was taken, was dropped or has failed, and returns the metrics that say so. */
async function settledMetrics(gw: Gateway): Promise<string> {
  let page = '';
  const rest = async (): Promise<object> => {
    page = (await gw.fetch('/metrics')).body;
    const requests = sumIn(page, 'gw_http_requests_total', 'location="/"');
    const all = sumIn(page, 'gw_http_requests_total');
    return { traces: restIn(page, 'traces', requests), logs: restIn(page, 'logs', all) };
  };
  // This request has a log record, too, which has been sent by the time of the next one.
  await expect.poll(rest, { interval: 2_500 }).toEqual({ traces: 0, logs: 0 });
  return page;
}

const protocols: readonly Protocol[] = ['http/json', 'grpc'];
const TEST_MS = perTier({ short: 60_000, long: 1_200_000 });

for (const protocol of protocols)
  test(
    `a collector of ${protocol} that fails costs no response and no memory, and every record is counted`,
    async (t) => {
      const collector = await TroubledCollector.start(t, protocol);
      const gw = await startGateway(t, confOf(protocol, collector.port), { fresh: true });
      const startedMs = performance.now();
      const rounds = await play(gw, collector);
      const seconds = (performance.now() - startedMs) / 1_000;
      tell(tableOf(protocol, rounds));

      const page = await settledMetrics(gw);
      for (const signal of ['traces', 'logs'] as const) {
        const counts = COUNTED.map((kind) => `${kind} ${countIn(page, kind, signal)}`);
        tell(`${protocol} ${signal}: ${counts.join(', ')}`);
        expect(countIn(page, 'exported', signal)).toBe(collector.taken[signal]);
        expect(countIn(page, 'dropped', signal)).toBeGreaterThan(0);
      }
      const [first, ...others] = MOODS.map((_, index) => rounds[(index + 1) * LOAD.rounds - 1]!.rssMb);
      for (const rssMb of others) expect(rssMb).toBeLessThan(first! + MOST_GROWTH_MB);
      expect(linesOf(gw)).toBeGreaterThan(0);
      expect(linesOf(gw)).toBeLessThan(3 * LINES_PER_SECOND * (seconds + 1));
    },
    TEST_MS,
  );
