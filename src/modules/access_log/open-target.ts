import { join, resolve } from 'node:path';
import type { Build, WorkerScope } from '../../contract/index.ts';
import { logContext } from '../../http/index.ts';
import type { Exchange } from '../../http/index.ts';
import { openAccessLog, openNamedLogs, openSyslog } from '../../log/index.ts';
import type { NamedLogRules } from '../../log/index.ts';
import type { FileTarget, NamedTarget, ServerTarget } from './config.ts';

export type WrittenTarget = FileTarget | NamedTarget | ServerTarget;

/** Takes the line of a request. */
type Write = (x: Exchange, line: string) => void;

/** A log that is open in this worker. */
export interface OpenTarget {
  readonly target: WrittenTarget;
  compile(build: Build): Write;
}

/** Opens what a target needs; targets that are alike share it. */
export function openTarget(target: WrittenTarget, cache: NamedLogRules, worker: WorkerScope): OpenTarget {
  if ('syslog' in target) return { target, compile: openServer(target, worker) };
  if ('name' in target) return { target, compile: openNamed(target, cache, worker) };
  return { target, compile: openFile(target, worker) };
}

function openFile({ path, bufferBytes, flushMs = 0, gzipLevel }: FileTarget, worker: WorkerScope): Compile {
  const file = path === 'stderr' ? path : resolve(worker.prefix, path);
  const log = worker.share(
    `access_log ${file} ${bufferBytes} ${flushMs} ${gzipLevel ?? ''}`,
    () => openAccessLog({ path: file, bufferBytes, flushMs, gzipLevel, log: worker.log }),
    (opened) => opened.close(),
  );
  worker.onReopen(() => log.reopen());
  return () => (_, line) => log.write(line);
}

function openServer({ syslog }: ServerTarget, worker: WorkerScope): Compile {
  const server = worker.share(
    `access_log syslog ${JSON.stringify(syslog)}`,
    () => openSyslog(syslog, (trouble) => worker.log.write('alert', `syslog: ${trouble}`)),
    (opened) => opened.close(),
  );
  return () => (_, line) => server.write(line);
}

type Compile = OpenTarget['compile'];

// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const UNSAFE_NAME = /[\0-\x1f\x7f]|(?:^|\/)\.\.?(?:\/|$)/;

function openNamed({ directory, name }: NamedTarget, cache: NamedLogRules, worker: WorkerScope): Compile {
  const logs = worker.share(
    `access_log names ${JSON.stringify(cache)}`,
    () => openNamedLogs(cache, (trouble) => worker.log.write('crit', trouble)),
    (opened) => opened.close(),
  );
  worker.onReopen(() => logs.reopen());
  return (build) => {
    // By the time that a line is written the connection may be gone.
    build.needPeer();
    const render = build.value(name);
    return (x, line) => {
      const path = render(x);
      // A name that starts at the root was meant to: it must not end up somewhere below the directory.
      if (!path.startsWith('/') && !path.endsWith('/') && path !== '' && !UNSAFE_NAME.test(path))
        logs.write(join(directory, path), line);
      else build.log.write('error', `log path "${path}" leaves "${directory}"`, logContext(x));
    };
  };
}
