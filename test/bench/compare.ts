import type { Bench } from './bench.ts';
import { median, spread } from './statistics.ts';
import { NotInstalled } from './programs.ts';
import type { Finding } from './row.ts';

/** After this number of requests V8 has compiled what it will; the number of rounds is limited, too. */
const WARM_UP_REQUESTS = 20_000;
const WARM_UP_ROUNDS = 10;

/** The result of one round. */
export interface Sample {
  readonly requests: number;
  readonly seconds: number;
  /** CPU time of all processes that serve; the load generator is left out. */
  readonly cpuSeconds: number;
}

/** Something that can be put under load. */
export interface Contender {
  readonly name: string;
  round(seconds: number): Promise<Sample>;
}

/** The contenders that the subject is compared with. */
export interface Peer {
  /** The line in the table. */
  readonly line: string;
  /** Lowest ratio that is good enough. */
  readonly goal: number;
  /** Opens it; may throw `NotInstalled`. */
  open(): Promise<Contender>;
}

/** From this spread on, the row says that the machine is too noisy for a verdict on a small difference. */
const NOISY_SPREAD = 0.1;

/**
 * Puts the subject and its peers under load in turns and gives one line per peer. The ratio is that of requests per
 * CPU second, which other programs on the machine disturb least; that of requests per second stands in the note.
 * It is the median of the rounds' ratios: what slows a whole round cancels out.
 */
export async function compare(bench: Bench, subject: Contender, peers: readonly Peer[]): Promise<Finding[]> {
  const present: { peer: Peer; contender: Contender }[] = [];
  const skipped: Finding[] = [];
  for (const peer of peers) {
    try {
      present.push({ peer, contender: await peer.open() });
    } catch (error) {
      if (!(error instanceof NotInstalled)) throw error;
      skipped.push(skippedLine(peer, error));
    }
  }
  if (present.length === 0) return skipped;
  const contenders = [subject, ...present.map(({ contender }) => contender)];
  const samples = await interleave(bench, contenders);
  const compared = present.map(({ peer }, index) =>
    verdict(peer, samples[0] as Sample[], samples[index + 1] as Sample[]),
  );
  return [...compared, ...skipped];
}

/** The line of a comparison that cannot be made here. */
export function skippedLine({ line, goal }: Pick<Peer, 'line' | 'goal'>, reason: NotInstalled): Finding {
  return { subject: line, result: '', goal: atLeast(goal), verdict: 'skipped', note: reason.message };
}

/** Samples by contender. Every round starts with another contender, so that none always follows the same one. */
async function interleave(bench: Bench, contenders: readonly Contender[]): Promise<Sample[][]> {
  for (const contender of contenders) await warmUp(bench, contender);
  const samples = contenders.map((): Sample[] => []);
  for (let round = 0; round < bench.rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const index = (round + turn) % contenders.length;
      samples[index]?.push(await (contenders[index] as Contender).round(bench.roundSeconds));
    }
  }
  return samples;
}

/** Runs rounds until V8 has seen enough requests: on a busy machine that takes longer. */
async function warmUp(bench: Bench, contender: Contender): Promise<void> {
  let requests = 0;
  for (let round = 0; round < WARM_UP_ROUNDS && requests < WARM_UP_REQUESTS; round++) {
    requests += (await contender.round(bench.warmUpSeconds)).requests;
  }
}

function verdict({ line, goal }: Peer, subject: readonly Sample[], peer: readonly Sample[]): Finding {
  const ratios = (of: (sample: Sample) => number) =>
    subject.map((sample, round) => of(sample) / of(peer[round] as Sample));
  const byCpu = ratios(({ requests, cpuSeconds }) => requests / cpuSeconds);
  const byTime = ratios(({ requests, seconds }) => requests / seconds);
  const ratio = median(byCpu);
  const width = spread(byCpu);
  return {
    subject: line,
    result: ratio.toFixed(2),
    goal: atLeast(goal),
    verdict: ratio >= goal ? 'pass' : 'miss',
    note: [
      `spread ${(width * 100).toFixed(0)} %`,
      width > NOISY_SPREAD ? 'NOISY: repeat on a quiet machine' : '',
      `by wall clock ${median(byTime).toFixed(2)}`,
    ]
      .filter(Boolean)
      .join(', '),
    measured: { ratio, spread: width, wallClockRatio: median(byTime), goal, subject, peer },
  };
}

const atLeast = (goal: number): string => `>= ${goal.toFixed(2)}`;
