import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { nearest } from '../../config/index.ts';
import {
  type Build,
  countLostLines,
  missingSyslogHosts,
  moduleFor,
  type WorkerScope,
} from '../../contract/index.ts';
import { type Exchange, logContext, type LogStep } from '../../http/index.ts';
import { type NamedLogRules, openAccessLog, openNamedLogs, openSyslog } from '../../log/index.ts';
import {
  type AccessLogConfig,
  directives,
  type FileTarget,
  type LogFormat,
  type LogTarget,
  type NamedTarget,
  type ServerTarget,
} from './directives.ts';
import { COMBINED, compileFormat } from './format.ts';
import { compileJsonFormat, isJsonFormat, JSON_FORMATS } from './json-format.ts';

type WrittenTarget = FileTarget | NamedTarget | ServerTarget;

/** Writes the log line of a request. */
type Write = (x: Exchange, line: string) => void;

/** A log that is open in this worker. */
interface OpenTarget {
  readonly target: WrittenTarget;
  compile(build: Build): Write;
}

type Compile = OpenTarget['compile'];

/** Opens a target; equal targets are opened once. */
function openTarget(target: WrittenTarget, rules: NamedLogRules, worker: WorkerScope): OpenTarget {
  if ('syslog' in target) return { target, compile: openSyslogServer(target, worker) };
  if ('name' in target) return { target, compile: openNamed(target, rules, worker) };
  return { target, compile: openFile(target, worker) };
}

/** Returns the function that counts lost lines of a log. */
function lossOf(log: string, worker: WorkerScope): (lines: number) => void {
  const count = countLostLines(worker.metrics);
  count(log, 0);
  return (lines) => count(log, lines);
}

function openFile(target: FileTarget, worker: WorkerScope): Compile {
  const { bufferBytes, flushMs = 0, gzipLevel } = target;
  const path = target.path === 'stderr' ? target.path : resolve(worker.prefix, target.path);
  const { log, logOpener: opener } = worker;
  const opened = worker.share(
    `access_log ${path} ${bufferBytes} ${flushMs} ${gzipLevel ?? ''}`,
    () => {
      const dropped = lossOf(path, worker);
      return openAccessLog({ path, bufferBytes, flushMs, gzipLevel, log, opener, dropped });
    },
    (file) => file.close(),
  );
  worker.onReopen(opened.reopen);
  return () => (_, line) => opened.write(line);
}

function openSyslogServer({ syslog }: ServerTarget, worker: WorkerScope): Compile {
  const server = worker.share(
    `access_log syslog ${JSON.stringify(syslog)}`,
    () => {
      const lost = lossOf('syslog', worker);
      const tell = (trouble: string): void => worker.log.write('error', `syslog: ${trouble}`);
      return openSyslog(syslog, { tell, dropped: () => lost(1) });
    },
    (opened) => opened.close(),
  );
  return () => (_, line) => server.write(line);
}

// eslint-disable-next-line no-control-regex -- it looks for control bytes
const UNSAFE_NAME = /[\0-\x1f\x7f]|(?:^|\/)\.\.?(?:\/|$)/;

function openNamed({ directory, name }: NamedTarget, rules: NamedLogRules, worker: WorkerScope): Compile {
  const logs = worker.share(
    `access_log names ${JSON.stringify(rules)}`,
    () => openNamedLogs(rules, (trouble) => worker.log.write('crit', trouble)),
    (opened) => opened.close(),
  );
  worker.onReopen(logs.reopen);
  const dropped = lossOf(`${directory}/`, worker);
  return (build) => {
    // The address must be kept, since the connection may be closed before the line is written.
    build.needPeer();
    const render = build.value(name);
    const rootOf = build.variable('document_root');
    const error = (x: Exchange, trouble: string): void => build.log.write('error', trouble, logContext(x));
    return (x, line) => {
      const path = render(x);
      const root = rootOf(x);
      // A value that begins with a slash was meant to be absolute: it must not become a path below the directory.
      if (path.startsWith('/') || path.endsWith('/') || path === '' || UNSAFE_NAME.test(path))
        error(x, `log path "${path}" leaves "${directory}"`);
      else if (root !== undefined)
        logs.write({
          path: join(directory, path),
          line,
          root,
          dropped,
          tell: (trouble) => error(x, trouble),
        });
    };
  };
}

/** Access logs: one line per request, written when it ends (nginx ngx_http_log_module). */
export const accessLog = moduleFor<AccessLogConfig>()<readonly OpenTarget[]>({
  name: 'access_log',
  summary: 'Logs of requests, and their formats.',
  directives,

  validate({ formats = [], logs = [] }, report) {
    const names = new Set(['combined']);
    for (const [index, { name }] of formats.entries()) {
      const message = `duplicate "log_format" name "${name}"`;
      if (names.has(name)) report.phrase('formats', message, { index, rule: 'duplicate-directive' });
      names.add(name);
    }
    for (const [index, log] of logs.entries()) {
      if ('format' in log && !names.has(log.format) && !isJsonFormat(log.format)) {
        const near = nearest(log.format, [...names, ...JSON_FORMATS]);
        report.phrase('logs', `unknown log format "${log.format}"`, {
          index,
          rule: 'bad-reference',
          hint: near && `did you mean "${near}"?`,
        });
      }
    }
  },

  async probe({ logs = [] }, live) {
    const servers = logs.map((log) => ('syslog' in log ? log.syslog : undefined));
    return (await missingSyslogHosts(servers, live)).map((found) => ({ ...found, field: 'logs' }));
  },

  writes: ({ logs }, prefix) => ({
    files: targetsOf(logs, prefix).flatMap((target) =>
      'path' in target && target.path !== 'stderr' ? target.path : [],
    ),
  }),

  provision: ({ logs, fileCache }, worker) =>
    targetsOf(logs, worker.prefix).map((target) => openTarget(target, fileCache, worker)),

  compile({ formats = [] }, targets, build) {
    const steps = targets.map((target) => compileTarget(target, formats, build));
    if (steps.length === 0) return {};
    return {
      log: (x) => {
        for (const step of steps) step(x);
      },
    };
  },
  explanation: { provision: () => [] },
  rules: () => import('./rules.ts'),
});

/** Returns the logs of a level; `off` anywhere among them cancels all (nginx). */
function targetsOf(logs: readonly LogTarget[] | undefined, prefix: string): readonly WrittenTarget[] {
  if (logs) return logs.some((log) => 'off' in log) ? [] : (logs as readonly WrittenTarget[]);
  const path = resolve(prefix, 'logs/access.log');
  return existsSync(resolve(prefix, 'logs')) ? [{ path, format: 'combined', bufferBytes: 0 }] : [];
}

/** Longer messages are cut on their way to a syslog server. */
const MAX_SYSLOG_BYTES = 4096;

/** Compiles the lines of a log. A format of the configuration comes before a predefined one of its name. */
function compileLine(
  target: WrittenTarget,
  formats: readonly LogFormat[],
  build: Build,
): (x: Exchange) => string {
  const own = formats.find(({ name }) => name === target.format);
  if (own || !isJsonFormat(target.format)) return compileFormat(own ?? COMBINED, build);
  return compileJsonFormat(target.format, build, 'syslog' in target ? MAX_SYSLOG_BYTES : undefined);
}

function compileTarget(
  { target, compile }: OpenTarget,
  formats: readonly LogFormat[],
  build: Build,
): LogStep {
  const { condition } = target;
  const render = compileLine(target, formats, build);
  const write = compile(build);
  if (!condition) return (x) => write(x, render(x));
  const wanted = build.value(condition);
  return (x) => {
    const decision = wanted(x);
    if (decision !== '' && decision !== '0') write(x, render(x));
  };
}
