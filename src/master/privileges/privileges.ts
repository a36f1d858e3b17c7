import { once } from 'node:events';
import { type MessagePort, Worker } from 'node:worker_threads';
import type { HeldLogs, LogOpener } from '../../log/index.ts';
import type { ConfigSource } from '../../pipeline.ts';
import type { GatewayPlan, PortPlan } from '../../plan/index.ts';
import type { Openings } from '../../worker/index.ts';
import { type AcceptedCandidate, type Candidate, loadCandidate } from '../candidate.ts';
import { pidFileOf, removePidFile, removeSocketFiles, writePidFile } from '../process-files.ts';
import { checkLogs, checkWritable } from '../rights/index.ts';
import type { Inheritance } from '../upgrade/inheritance.ts';
import { ListeningSockets } from './listening-sockets.ts';

/** The operations that need the rights with which the master was started. The master has them, or asks the keeper. */
export interface Privileges {
  /** Loads the configuration again. */
  load(): Promise<Candidate>;
  /** Returns the findings of `gw check` in the last configuration, one line each. */
  findings(signal: AbortSignal): Promise<readonly string[]>;
  /** Called before the first worker starts. Gives up all rights that the serving account does not have. */
  settle(candidate: AcceptedCandidate): Promise<void>;
  /** Rejects if one of these new ports cannot be bound. */
  probe(ports: readonly PortPlan[]): Promise<void>;
  /** Returns the openings, for one worker, of ports that it cannot bind itself. */
  openings(ports: readonly PortPlan[]): Promise<Openings>;
  /** Returns the message port between a new worker and the acceptor. */
  connect(workerId: number): MessagePort | undefined;
  /** Stops the acceptor from giving connections to a worker that does not respond. */
  hold(workerId: number): void;
  /** Called when all ports accept. */
  serving(candidate: AcceptedCandidate): Promise<void>;
  /** Called when the last loaded configuration serves. */
  replaced(before: GatewayPlan, now: AcceptedCandidate): Promise<void>;
  /** Called when the last loaded configuration is refused. Closes the ports that were bound for it. */
  refused(): Promise<void>;
  /** The logs that root has opened for the configuration that was loaded last. */
  readonly logs: HeldLogs;
  /** Prepares new log files after rotation. They can be opened when it resolves, except those in the messages. */
  reopen(plan: GatewayPlan): Promise<readonly string[]>;
  /** Called when all threads have opened the new files. */
  reopened(): void;
  /** Called when a stop begins. From then on, no connections are accepted. `isReplaced`: another program does so. */
  leave(how: { readonly isReplaced: boolean }): void;
  /** Called when the gateway has ended or failed to start. */
  ended(served: GatewayPlan | undefined): Promise<void>;
}

/**
 * Returns the findings of `gw check` in a configuration, one line each. They are computed in a separate thread, so that
 * signals and workers do not wait and the memory is freed afterwards. Rejects if the thread fails.
 */
async function judge(source: ConfigSource, signal: AbortSignal): Promise<readonly string[]> {
  const thread = new Worker(new URL('../master/judge-thread.cjs', import.meta.url), { workerData: source });
  thread.unref();
  try {
    const [lines] = (await once(thread, 'message', { signal })) as [readonly string[]];
    return lines;
  } finally {
    await thread.terminate();
  }
}

/** Loads a configuration; rejects if one of its logs cannot be opened, or a state not be written. */
async function loadWithLogs(source: ConfigSource, opener: LogOpener): Promise<Candidate> {
  const candidate = await loadCandidate(source);
  if (candidate.plan) {
    const { files, stateDirectories } = candidate.plan.main.written;
    checkLogs(undefined, { files, opener });
    checkWritable(undefined, stateDirectories);
  }
  return candidate;
}

/** Options of `ownPrivileges`. */
interface OwnOptions {
  readonly source: ConfigSource;
  /** Id of the process that takes signals. */
  readonly pid: number;
  /** Opens the logs of this thread. */
  readonly opener: LogOpener;
  /** Called with each configuration that begins to serve. */
  readonly keep: (candidate: AcceptedCandidate) => void;
  /** The sockets of the program that this one replaces. */
  readonly inheritance: Inheritance | undefined;
}

/** Returns the privileges of a process that keeps its account: it performs all operations itself. */
export function ownPrivileges({ source, pid, opener, keep, inheritance }: OwnOptions): Privileges {
  const sockets = new ListeningSockets(inheritance);
  return {
    load: () => loadWithLogs(source, opener),
    findings: (signal) => judge(source, signal),
    settle: ({ plan: { ports } }) => sockets.settle(ports),
    probe: (ports) => sockets.probe(ports),
    openings: (ports) => sockets.openings(ports),
    connect: (workerId) => sockets.connect(workerId),
    hold: (workerId) => sockets.hold(workerId),
    async serving(candidate) {
      sockets.keep(candidate.plan.ports);
      writePidFile(pidFileOf(candidate.plan), pid);
      keep(candidate);
    },
    async replaced(before, candidate) {
      const now = candidate.plan;
      sockets.keep(now.ports);
      keep(candidate);
      if (pidFileOf(before) === pidFileOf(now)) return;
      writePidFile(pidFileOf(now), pid);
      removePidFile(pidFileOf(before), pid);
    },
    async refused() {
      sockets.refused();
    },
    logs: {},
    reopen: () => Promise.resolve([]),
    reopened: () => undefined,
    leave: (how) => sockets.leave(how),
    async ended(served) {
      await sockets.ended();
      if (!served) return;
      removeSocketFiles(served);
      removePidFile(pidFileOf(served), pid);
    },
  };
}
