import { type Build, countLostLines, moduleFor, type WorkerScope } from '../../contract/index.ts';
import { type Try, upstreamFacts } from '../../forwarding/index.ts';
import {
  type Exchange,
  latencyMs,
  type LogStep,
  phasesOf,
  requestId,
  type TimedPart,
  tracedBy,
  watchPhases,
} from '../../http/index.ts';
import { jsonText, openAccessLog, timeUtc } from '../../log/index.ts';
import { shownSql } from '../../postgres/index.ts';
import { directives, type SlowLogConfig, type SlowLogTarget } from './directives.ts';
import { maskedPlan } from './masked-plan.ts';
import { LimitedLines } from './rate.ts';

interface OpenLog {
  readonly lines: LimitedLines;
  readonly target: SlowLogTarget;
}

const SLOW = {
  name: 'gw_slow_total',
  help: 'Requests and parts of them that took longer than "slow_log" says.',
};
type Kind = 'request' | 'query' | 'kv' | 'upstream';

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
      const tell = (suppressed: number): string =>
        JSON.stringify({ kind: 'suppressed', time: timeUtc(Date.now()), lines: suppressed });
      return { file: opened, lines: new LimitedLines((line) => opened.write(line), tell) };
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
function compileExplains({ query }: SlowLogTarget): (ms: number, text: string) => boolean {
  const explained = new Map<string, number>();
  return (ms, text) => {
    const now = performance.now();
    if (ms < query || now - (explained.get(text) ?? -Infinity) < EXPLAIN_INTERVAL_MS) return false;
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
  const write = (x: Exchange, slow: { readonly kind: Kind; readonly ms: number }, more: object): void => {
    count(slow.kind);
    lines.write(lineOf(x, { ...slow, location: path, ...more }), target.rate);
  };
  return (x) => {
    const ms = latencyMs(x);
    if (ms >= target.request)
      write(x, { kind: 'request', ms }, { method: x.request.method, status: x.status, ...phases(x) });
    for (const part of phasesOf(x)?.parts ?? []) {
      if (part.ms < target[part.kind]) continue;
      const tell = (plan?: unknown): void =>
        write(x, { kind: part.kind, ms: part.ms }, describe(x, part, plan));
      if (part.plan) void part.plan.then(tell);
      else tell();
    }
    const { upstream } = target;
    if (upstream === undefined) return;
    for (const tried of upstreamFacts(x)?.rounds.flat() ?? [])
      if (tried.responseMs >= upstream) write(x, { kind: 'upstream', ms: tried.responseMs }, ofTry(tried));
  };
}

function compileCounter({ metrics, core, location }: Build): (kind: Kind) => void {
  const { metricsLocation } = core;
  if (metricsLocation === false) return () => undefined;
  const label = metricsLocation === true ? location.path : metricsLocation;
  return (kind) => metrics.counter(SLOW, { location: label, kind }).add();
}

function lineOf(
  x: Exchange,
  { kind, ms, location, ...more }: { kind: Kind; ms: number; location: string },
): string {
  return jsonText({
    kind,
    time: timeUtc(Date.now()),
    ms: rounded(ms),
    request_id: requestId(x),
    trace_id: tracedBy(x)?.traceId ?? null,
    location,
    ...more,
  });
}

/** Milliseconds of each phase; `send` is the time after the last statement or command. */
function phases(x: Exchange): Record<string, number> {
  const known = phasesOf(x);
  const all: [string, number][] = Object.entries(known?.ms ?? {});
  if (known && known.endedAt > 0) all.push(['send', performance.now() - known.endedAt]);
  const tries = upstreamFacts(x)?.rounds.flat() ?? [];
  if (tries.length > 0)
    all.push(['upstream', tries.reduce((sum, { responseMs }) => sum + Math.max(0, responseMs), 0)]);
  return Object.fromEntries(all.map(([phase, ms]) => [phase, rounded(ms)]));
}

function describe(x: Exchange, { kind, text, role }: TimedPart, plan: unknown): object {
  if (kind === 'kv') return { command: text };
  const shown = plan === undefined ? {} : { plan: maskedPlan(plan) };
  return {
    sql: shownSql(text),
    rows: phasesOf(x)?.rows ?? null,
    role: role ?? null,
    ...shown,
  };
}

function ofTry({ address, status, connectMs, headerMs }: Try): object {
  return { upstream: address, status, connect: rounded(connectMs), header: rounded(headerMs) };
}

/** Milliseconds with three decimals; -1 stays, for what was never reached. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
