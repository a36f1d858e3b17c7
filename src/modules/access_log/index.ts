import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { nearest } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import type { Build } from '../../contract/index.ts';
import type { LogStep } from '../../http/index.ts';
import type { AccessLogConfig, LogFormat, LogTarget } from './config.ts';
import { directives } from './directives.ts';
import { COMBINED, compileFormat } from './format.ts';
import { openTarget } from './open-target.ts';
import type { OpenTarget, WrittenTarget } from './open-target.ts';

/** Access logs: one line per request when it is answered. */
export const accessLog = moduleFor<AccessLogConfig>()<readonly OpenTarget[]>({
  name: 'access_log',
  directives,

  validate({ formats = [], logs = [] }, report) {
    const names = new Set(['combined']);
    for (const [index, { name }] of formats.entries()) {
      const message = `duplicate "log_format" name "${name}"`;
      if (names.has(name)) report.phrase('formats', message, { index, rule: 'duplicate-directive' });
      names.add(name);
    }
    for (const [index, log] of logs.entries()) {
      if ('format' in log && !names.has(log.format)) {
        const near = nearest(log.format, names);
        report.phrase('logs', `unknown log format "${log.format}"`, {
          index,
          rule: 'bad-reference',
          hint: near && `did you mean "${near}"?`,
        });
      }
    }
  },

  writes: ({ logs }, prefix) => ({
    files: targetsOf(logs, prefix).flatMap((target) => ('path' in target ? target.path : [])),
  }),

  provision: ({ logs, fileCache }, worker) =>
    targetsOf(logs, worker.prefix).map((target) => openTarget(target, fileCache, worker)),

  compile({ formats = [] }, targets, build) {
    const steps = targets.map((target) => compileTarget(target, [COMBINED, ...formats], build));
    if (steps.length === 0) return {};
    return {
      log: (x) => {
        for (const step of steps) step(x);
      },
    };
  },
  explanation: { provision: () => [] },
});

/** `off` among the logs of a level cancels all of them, wherever it stands (nginx). */
function targetsOf(logs: readonly LogTarget[] | undefined, prefix: string): readonly WrittenTarget[] {
  if (logs) return logs.some((log) => 'off' in log) ? [] : (logs as readonly WrittenTarget[]);
  const path = resolve(prefix, 'logs/access.log');
  return existsSync(resolve(prefix, 'logs')) ? [{ path, format: 'combined', bufferBytes: 0 }] : [];
}

function compileTarget(
  { target: { format, condition }, compile }: OpenTarget,
  formats: readonly LogFormat[],
  build: Build,
): LogStep {
  const render = compileFormat(formats.find(({ name }) => name === format) ?? COMBINED, build);
  const write = compile(build);
  if (!condition) return (x) => write(x, render(x));
  const wanted = build.value(condition);
  return (x) => {
    const decision = wanted(x);
    if (decision !== '' && decision !== '0') write(x, render(x));
  };
}
