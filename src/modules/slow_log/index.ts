import { type Build, countLostLines, moduleFor, type WorkerScope } from '../../contract/index.ts';
import { upstreamFacts } from '../../forwarding/index.ts';
import { type Exchange, latencyMs, type LogStep, phasesOf, watchPhases } from '../../http/index.ts';
import { openAccessLog, timeUtc } from '../../log/index.ts';
import { directives, type SlowLogConfig, type SlowLogTarget } from './directives.ts';
import { LimitedLines } from './limited-lines.ts';
import { partMembers, requestMembers, type SlowKind, slowLine, tryMembers } from './slow-line.ts';

interface OpenLog {
  readonly lines: LimitedLines;
  readonly target: SlowLogTarget;
}

const SLOW = {
  name: 'gw_slow_total',
  help: 'Requests and parts of them that took longer than "slow_log" says.',
};

/** Slow requests, statements and commands, with what their time was spent on. */
export const slowLog = moduleFor<SlowLogConfig>()<OpenLog>({
  name: 'slow_log',
  summary: 'A log of slow requests, statements and commands.',
  directives,
  enabled: ({ target }) => target !== undefined && target !== 'off',
  keepsPhases: () => true,
  writes: ({ target }) => ({
    files: typeof target === 'object' && target.path !== 'stderr' ? [target.path] : [],
  }),
  provision: ({ target }, worker) => openLog(target as SlowLogTarget, worker),
  compile(_config, { lines, target }, build) {
    const explains = target.explain ? compileExplains(target) : undefined;
    return {
      entering: (x) => watchPhases(x, explains),
      log: compileStep({ lines, target }, build),
    };
  },
  explanation: {
    provision: ({ target }) => ({
      lines: new LimitedLines(() => undefined, String),
      target: target as SlowLogTarget,
    }),
  },
});

function openLog(target: SlowLogTarget, worker: WorkerScope): OpenLog {
  const { path } = target;
  const { log, logOpener: opener, metrics } = worker;
  const { file, lines } = worker.share(
    `slow_log ${path}`,
    () => {
      const count = countLostLines(metrics);
      const dropped = (lines: number): void => count(path, lines);
      count(path, 0);
      const opened = openAccessLog({ path, bufferBytes: 0, flushMs: 0, log, opener, dropped });
      const lineAbout = (suppressed: number): string =>
        JSON.stringify({ kind: 'suppressed', time: timeUtc(Date.now()), lines: suppressed });
      return { file: opened, lines: new LimitedLines((line) => opened.write(line), lineAbout) };
    },
    (opened) => {
      opened.lines.flush();
      return opened.file.close();
    },
  );
  worker.onReopen(file.reopen);
  return { lines, target };
}

const EXPLAIN_INTERVAL_MS = 60_000;
/** Statements whose last plan is remembered; while all of them are recent, no further plan is asked for. */
const MAX_EXPLAINED = 256;

/** Decides whether the plan of a slow statement is asked for: at most once a minute for each. */
function compileExplains({ thresholdsMs }: SlowLogTarget): (ms: number, text: string) => boolean {
  const explained = new Map<string, number>();
  return (ms, text) => {
    const now = performance.now();
    if (ms < thresholdsMs.query || now - (explained.get(text) ?? -Infinity) < EXPLAIN_INTERVAL_MS)
      return false;
    explained.delete(text);
    const [oldest] = explained;
    if (explained.size >= MAX_EXPLAINED && oldest) {
      if (now - oldest[1] < EXPLAIN_INTERVAL_MS) return false;
      explained.delete(oldest[0]);
    }
    explained.set(text, now);
    return true;
  };
}

function compileStep({ lines, target }: OpenLog, build: Build): LogStep {
  const { path } = build.location;
  const count = compileCounter(build);
  const { thresholdsMs, linesPerSecond } = target;
  const write = (x: Exchange, slow: { readonly kind: SlowKind; readonly ms: number }, more: object): void => {
    count(slow.kind);
    lines.write(slowLine(x, { ...slow, location: path, ...more }), linesPerSecond);
  };
  return (x) => {
    const ms = latencyMs(x);
    if (ms >= thresholdsMs.request) write(x, { kind: 'request', ms }, requestMembers(x));
    for (const part of phasesOf(x)?.parts ?? []) {
      if (part.ms < thresholdsMs[part.kind]) continue;
      const writePart = (plan?: unknown): void =>
        write(x, { kind: part.kind, ms: part.ms }, partMembers(x, part, plan));
      if (part.plan) void part.plan.then(writePart);
      else writePart();
    }
    const { upstream } = thresholdsMs;
    if (upstream === undefined) return;
    for (const tried of upstreamFacts(x)?.rounds.flat() ?? [])
      if (tried.responseMs >= upstream)
        write(x, { kind: 'upstream', ms: tried.responseMs }, tryMembers(tried));
  };
}

function compileCounter({ metrics, core, location }: Build): (kind: SlowKind) => void {
  const { metricsLocation } = core;
  if (metricsLocation === false) return () => undefined;
  const label = metricsLocation === true ? location.path : metricsLocation;
  return (kind) => metrics.counter(SLOW, { location: label, kind }).add();
}
