import type { Bench } from './bench.ts';
import { NotInstalled } from './programs.ts';
import { microseconds, rateText } from './quantities.ts';
import { emptyLine, type Finding, type Goals, judgeAtLeast } from './row.ts';
import { median, spread } from './statistics.ts';
import type { Target } from './target.ts';

/** After this number of requests V8 has compiled what it will; the number of rounds is limited, too. */
const WARM_UP_REQUESTS = 20_000;

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
  /** Where it is a server of HTTP. */
  readonly target?: Target;
  /** The most rounds before the first one that counts, where a round has few requests. */
  readonly warmUpRounds?: number;
  round(seconds: number): Promise<Sample>;
}

/** A contender that the subject is compared with. */
export interface Peer extends Goals {
  /** The line in the table. */
  readonly line: string;
  /** What a reader must know to judge the comparison. */
  readonly note?: string;
  /** Opens it; may throw `NotInstalled`. */
  open(): Promise<Contender>;
}

/** What is compared with what. */
export interface Comparison {
  readonly subject: Contender;
  readonly peers: readonly Peer[];
}

/** A peer that runs. */
export interface PresentPeer {
  readonly peer: Peer;
  readonly contender: Contender;
}

/** From this spread on, the line says that the machine is too noisy for a verdict on a small difference. */
const NOISY_SPREAD = 0.1;

/**
 * Puts the subject and its peers under load in turns and gives one line per peer. The ratio is that of requests per
 * second, the median of the rounds' ratios: what slows a whole round cancels out. The ratio of requests per CPU second,
 * which other programs on the machine disturb least, stands beside it.
 */
export async function compare(bench: Bench, { subject, peers }: Comparison): Promise<Finding[]> {
  const { present, skipped } = await openPeers(peers);
  if (present.length === 0) return [...skipped];
  const contenders = [subject, ...present.map(({ contender }) => contender)];
  const samples = await interleave(bench, contenders);
  const compared = present.map(({ peer }, index) =>
    verdict(peer, samples[0] as Sample[], samples[index + 1] as Sample[]),
  );
  return [...compared, ...skipped];
}

/** The peers that are installed, and a line for each of the others. */
export async function openPeers(
  peers: readonly Peer[],
): Promise<{ readonly present: readonly PresentPeer[]; readonly skipped: readonly Finding[] }> {
  const present: PresentPeer[] = [];
  const skipped: Finding[] = [];
  for (const peer of peers) {
    try {
      present.push({ peer, contender: await peer.open() });
    } catch (error) {
      if (!(error instanceof NotInstalled)) throw error;
      skipped.push({ ...emptyLine(peer.line, 'skipped', error.message), ...goalCells(peer) });
    }
  }
  return { present, skipped };
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
export async function warmUp(bench: Bench, contender: Contender): Promise<void> {
  const { warmUpRounds: most = bench.warmUpRounds } = contender;
  let requests = 0;
  for (let round = 0; round < most && requests < WARM_UP_REQUESTS; round++) {
    requests += (await contender.round(bench.warmUpSeconds)).requests;
  }
}

function verdict(peer: Peer, subject: readonly Sample[], other: readonly Sample[]): Finding {
  const ratios = (of: (sample: Sample) => number) =>
    subject.map((sample, round) => of(sample) / of(other[round] as Sample));
  const byTime = ratios(perSecond);
  const byCpu = ratios(({ requests, cpuSeconds }) => requests / cpuSeconds);
  const [value, lowest, highest] = [median(byTime), Math.min(...byTime), Math.max(...byTime)];
  const { goal, aim } = peer;
  const notes = [
    `by CPU time ${median(byCpu).toFixed(2)}`,
    spread(byTime) > NOISY_SPREAD ? 'NOISY: repeat on a quiet machine' : '',
    peer.note ?? '',
  ];
  return {
    subject: peer.line,
    result: `${value.toFixed(2)} (${lowest.toFixed(2)}-${highest.toFixed(2)})`,
    ...goalCells(peer),
    verdict: judgeAtLeast(value, peer),
    gw: costText(subject),
    peer: costText(other),
    note: notes.filter(Boolean).join('; '),
    measured: {
      ...(goal !== undefined && { goal }),
      ...(aim !== undefined && { aim }),
      value,
      lowest,
      highest,
      unit: 'ratio',
      details: { byCpu: median(byCpu), spread: spread(byTime), subject, peer: other },
    },
  };
}

const perSecond = ({ requests, seconds }: Sample): number => requests / seconds;

/** `98.1 k/s, 10.2 us`: requests, and CPU time of one. */
export function costText(samples: readonly Sample[]): string {
  const cpu = median(samples.map(({ requests, cpuSeconds }) => cpuSeconds / requests));
  return `${rateText(median(samples.map(perSecond)))}, ${microseconds(cpu)}`;
}

function goalCells({ goal, aim }: Goals): { readonly goal: string; readonly aim: string } {
  const atLeast = (bound?: number): string => (bound === undefined ? '' : `>= ${bound.toFixed(2)}`);
  return { goal: atLeast(goal), aim: atLeast(aim) };
}
