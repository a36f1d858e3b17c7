import { setTimeout as sleep } from 'node:timers/promises';
import { Bench, QUICK } from '../bench/bench.ts';
import type { Actor } from './actor.ts';
import { ACTORS } from './actors/index.ts';
import { requests } from './actors/requests.ts';
import { foundInLog } from './error-log.ts';
import { HAPPENINGS } from './happenings/index.ts';
import { happenings } from './actors/happenings.ts';
import { type Options, readOptions, USAGE } from './options.ts';
import { Report } from './report.ts';
import { Run } from './run.ts';
import { Stage } from './stage.ts';
import { measure, settle } from './vitals.ts';

const WARM_UP_MS = 10_000;
/** Time after which idle connections are gone: the longest timeout of the configuration is shorter. */
const QUIET_MS = 15_000;

async function main(options: Options): Promise<number> {
  const owner = new Bench(QUICK);
  const report = new Report(options);
  end = () => owner.close();
  try {
    const tell = (message: string, seen: string) =>
      report.violation({ actor: 'upstream', turn: '', message, evidence: seen });
    const stage = await Stage.start(owner, { engine: options.engine, tell });
    const run = new Run(stage, report, options);
    await (options.turn ? replay(run, options) : soak(stage, { run, report, options }));
    for (const [message, line] of foundInLog(stage.gateway))
      report.violation({ actor: 'error log', turn: '', message, evidence: line });
  } finally {
    await owner
      .close()
      .catch((error: Error) => report.violation({ actor: 'stop', turn: '', message: error.message }));
  }
  console.log(report.write());
  return report.failed ? 1 : 0;
}

interface Playing {
  readonly run: Run;
  readonly report: Report;
  readonly options: Options;
}

async function soak(stage: Stage, { run, report, options: { minutes, only } }: Playing): Promise<void> {
  const actors = castOf(only);
  await run.play([requests], performance.now() + WARM_UP_MS);
  await sleep(QUIET_MS);
  report.before = await measure(stage);
  await run.play(actors, performance.now() + minutes * 60_000);
  if (stage.gateway.ended !== undefined)
    return report.violation({
      actor: 'process',
      turn: '',
      message: `the gateway ended: ${stage.gateway.ended}`,
    });
  await sleep(QUIET_MS);
  const { after, faults } = await settle(stage, report.before);
  report.after = after;
  for (const message of faults) report.violation({ actor: 'vitals', turn: '', message });
}

/** The actors that take part: all, unless some are named. */
function castOf(only: Options['only']): Actor[] {
  const isWanted = ({ name }: { readonly name: string }) => only?.includes(name) ?? true;
  const wanted = HAPPENINGS.filter(isWanted);
  return [...ACTORS.filter(isWanted), ...(wanted.length > 0 ? [happenings(wanted)] : [])];
}

async function replay(run: Run, { turn: wanted, only }: Options): Promise<void> {
  const actor = castOf(only).find(({ name }) => name === wanted?.actor);
  if (!actor || !wanted) throw new Error(`there is no actor "${wanted?.actor}"`);
  const { lane, turn } = wanted;
  await run.take({ actor, lane, turn });
}

let end: () => Promise<void> = () => Promise.resolve();

const options = readOptions(process.argv.slice(2));
if (typeof options === 'string') {
  process.stderr.write(`soak: ${options}\n${USAGE}`);
  process.exitCode = 1;
} else {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void end().finally(() => process.exit(130)));
  process.exitCode = await main(options);
}
