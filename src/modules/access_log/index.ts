import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { nearest } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import type { Build, WorkerScope } from '../../contract/index.ts';
import type { LogStep } from '../../http/index.ts';
import { openAccessLog } from '../../log/index.ts';
import type { AccessLog } from '../../log/index.ts';
import { directives } from './directives.ts';
import type { AccessLogConfig, LogFormat, LogTarget } from './directives.ts';
import { COMBINED, compileFormat } from './format.ts';

type FileTarget = Exclude<LogTarget, { off: true }>;

/** A log that is open in this worker. */
interface OpenTarget extends FileTarget {
  readonly writer: AccessLog;
}

/** Access logs: one line per request when it is answered. */
export const accessLog = moduleFor<AccessLogConfig>()<readonly OpenTarget[]>({
  name: 'access_log',
  directives,

  validate({ formats = [], logs = [] }, report) {
    const names = new Set(['combined']);
    for (const [index, { name }] of formats.entries()) {
      if (names.has(name)) report.phrase('formats', `duplicate "log_format" name "${name}"`, { index });
      names.add(name);
    }
    for (const [index, log] of logs.entries()) {
      if ('format' in log && !names.has(log.format)) {
        const near = nearest(log.format, names);
        const hint = near === undefined ? {} : { hint: `did you mean "${near}"?` };
        report.phrase('logs', `unknown log format "${log.format}"`, { index, ...hint });
      }
    }
  },

  provision: ({ logs }, worker) =>
    targetsOf(logs, worker).map((target) => ({ ...target, writer: open(target, worker) })),

  compile({ formats = [] }, targets, build) {
    const steps = targets.map((target) => compileTarget(target, [COMBINED, ...formats], build));
    if (steps.length === 0) return {};
    return {
      log: (x) => {
        for (const step of steps) step(x);
      },
    };
  },
});

function targetsOf(logs: readonly LogTarget[] | undefined, worker: WorkerScope): readonly FileTarget[] {
  if (logs) return logs.some((log) => 'off' in log) ? [] : (logs as readonly FileTarget[]);
  const path = resolve(worker.prefix, 'logs/access.log');
  return existsSync(resolve(worker.prefix, 'logs')) ? [{ path, format: 'combined', bufferBytes: 0 }] : [];
}

function open({ path, bufferBytes, flushMs }: FileTarget, worker: WorkerScope): AccessLog {
  const file = path === 'stderr' ? path : resolve(worker.prefix, path);
  const writer = worker.share(
    `access_log ${file} ${bufferBytes} ${flushMs}`,
    () => openAccessLog({ path: file, bufferBytes, flushMs: flushMs ?? 0, log: worker.log }),
    (opened) => opened.close(),
  );
  worker.onReopen(() => writer.reopen());
  return writer;
}

function compileTarget(
  { writer, format, condition }: OpenTarget,
  formats: readonly LogFormat[],
  build: Build,
): LogStep {
  const render = compileFormat(formats.find(({ name }) => name === format) ?? COMBINED, build);
  if (!condition) return (x) => writer.write(render(x));
  const wanted = build.value(condition);
  return (x) => {
    const decision = wanted(x);
    if (decision !== '' && decision !== '0') writer.write(render(x));
  };
}
