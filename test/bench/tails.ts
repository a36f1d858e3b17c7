import type { Bench } from './bench.ts';
import { type Contender, openPeers, warmUp } from './compare.ts';
import type { LoadResult, Quantiles } from './generator/protocol.ts';
import { generate } from './generator/generate.ts';
import { microseconds, rateText } from './quantities.ts';
import { emptyLine, type Finding, type Row } from './row.ts';
import type { Scenario } from './scenario.ts';
import { median } from './statistics.ts';
import type { Target } from './target.ts';

const WARM_UP_SECONDS = 1;
/** Rounds of wrk whose median is the greatest rate. */
const RATE_ROUNDS = 3;
/** What a failed generator says stands at the end. */
const LONGEST_NOTE = 160;

/**
 * Latencies of a scenario at half of gw's greatest rate, and beside its first HTTP peer at half of the lower one of the
 * two greatest rates: both then have room.
 */
export function tailsOf({ name, open }: Scenario): Row {
  return {
    name: `tails-${name}`,
    async run(bench) {
      const { subject, peers } = await open(bench);
      const { present, skipped } = await openPeers(peers);
      const gw = await withRate(bench, subject);
      const lines = [
        await tailsLine(bench, `${name}, gw at half of its rate`, { contenders: [gw], rate: gw.rate / 2 }),
      ];
      const first = present.find(({ contender }) => contender.target !== undefined);
      if (first === undefined) {
        return [...lines, ...skipped.map(({ subject: of, note }) => emptyLine(of, 'skipped', note))];
      }
      const peer = await withRate(bench, first.contender);
      const rate = Math.min(gw.rate, peer.rate) / 2;
      return [...lines, await tailsLine(bench, first.peer.line, { contenders: [gw, peer], rate })];
    },
  };
}

interface Rated {
  readonly target: Target;
  /** Greatest number of requests per second. */
  readonly rate: number;
}

interface Contest {
  readonly contenders: readonly Rated[];
  readonly rate: number;
}

async function withRate(bench: Bench, contender: Contender): Promise<Rated> {
  const { name, target } = contender;
  if (target === undefined) throw new Error(`${name} is no server that can be asked`);
  await warmUp(bench, contender);
  const rates: number[] = [];
  for (let round = 0; round < RATE_ROUNDS; round++) {
    const { requests, seconds } = await contender.round(1);
    rates.push(requests / seconds);
  }
  return { target, rate: median(rates) };
}

/** The rounds of each contender, in turns. */
async function measure(bench: Bench, { contenders, rate }: Contest): Promise<readonly LoadResult[][]> {
  const results = contenders.map((): LoadResult[] => []);
  for (let round = 0; round < bench.rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const index = (round + turn) % contenders.length;
      results[index]?.push(await openLoad(bench, (contenders[index] as Rated).target, rate));
    }
  }
  return results;
}

/** A line that cannot be measured says why, and the others stay. */
async function tailsLine(bench: Bench, subject: string, contest: Contest): Promise<Finding> {
  const line = `${subject}, ${rateText(contest.rate)}`;
  return measure(bench, contest).then(
    (results) => quantilesLine(line, contest.rate, results),
    (error: unknown) => emptyLine(line, 'failed', String(error).replaceAll(/\s+/g, ' ').slice(-LONGEST_NOTE)),
  );
}

function quantilesLine(subject: string, rate: number, results: readonly LoadResult[][]): Finding {
  const [gw = [], peer = []] = results;
  const p99 = gw.map(({ latency }) => latency.p99);
  const cost = median(results.flat().map(({ cpuSeconds }) => cpuSeconds));
  const late = median(results.flat().map((result) => result.late.p99));
  const [value, lowest, highest] = [median(p99), Math.min(...p99), Math.max(...p99)];
  return {
    subject,
    result: `p99 ${value.toFixed(2)} ms (${lowest.toFixed(2)}-${highest.toFixed(2)})`,
    goal: '',
    aim: '',
    verdict: 'seen',
    gw: quantilesText(gw),
    peer: peer.length === 0 ? '' : quantilesText(peer),
    note: `generator: ${microseconds(cost)} CPU per request, p99 of sends ${late.toFixed(2)} ms late`,
    measured: { value, lowest, highest, unit: 'ms', details: { rate, gw, peer } },
  };
}

function openLoad(bench: Bench, target: Target, rate: number): Promise<LoadResult> {
  return generate(target, { rate, seconds: bench.roundSeconds + 1, warmUpSeconds: WARM_UP_SECONDS });
}

function quantilesText(results: readonly LoadResult[]): string {
  const of = (name: keyof Quantiles): string =>
    median(results.map(({ latency }) => latency[name])).toFixed(2);
  return `p50 ${of('p50')}, p99 ${of('p99')}, p99.9 ${of('p999')} ms`;
}
