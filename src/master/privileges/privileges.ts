import { once } from 'node:events';
import { resolve } from 'node:path';
import { type MessagePort, Worker } from 'node:worker_threads';
import type { ConfigSource } from '../../pipeline.ts';
import type { GatewayPlan, PortPlan } from '../../plan/index.ts';
import type { Openings } from '../../worker/index.ts';
import { type AcceptedCandidate, type Candidate, loadCandidate } from '../candidate.ts';
import { probePort } from '../probe-port.ts';
import { removePidFile, removeSocketFiles, writePidFile } from '../process-files.ts';

/** What the master does with the rights that it was started with, whether it still has them or has to ask for them. */
export interface Privileges {
  /** Loads the configuration again. */
  load(): Promise<Candidate>;
  /** What the rules of `gw check` find in it, one line each. */
  findings(signal: AbortSignal): Promise<readonly string[]>;
  /** Before the first worker starts: from here on nothing in this process has more rights than the account that serves. */
  settle(candidate: AcceptedCandidate): Promise<void>;
  /** Fails where one of these ports, which the gateway does not have yet, cannot be bound. */
  probe(ports: readonly PortPlan[]): Promise<void>;
  /** How a worker comes by ports that this process may not bind. */
  openings(ports: readonly PortPlan[]): Promise<Openings>;
  /** For a worker that starts: its port to the thread that accepts for it. */
  connect(workerId: number): MessagePort | undefined;
  /** A worker does not respond: it gets no connections from that thread any more. */
  hold(workerId: number): void;
  /** Every port accepts. */
  serving(candidate: AcceptedCandidate): Promise<void>;
  /** The configuration that was loaded last has taken over. */
  replaced(before: GatewayPlan, now: AcceptedCandidate): Promise<void>;
  /** The configuration that was loaded last will not serve: what was bound for it is closed. */
  refused(): Promise<void>;
  /** Log files were rotated: those of now can be opened when it resolves. */
  reopen(): Promise<void>;
  /** A graceful stop or a fast one begins: nobody should come any more. */
  leave(): void;
  /** The gateway has ended, or did not come to serve. */
  ended(served: GatewayPlan | undefined): Promise<void>;
}

/**
 * What the rules of `gw check` find in a configuration, one line each, from a thread of its own: signals and workers do not
 * wait for it, and the memory that the rules take goes with it. Fails when the thread does.
 */
async function judge(source: ConfigSource, signal: AbortSignal): Promise<readonly string[]> {
  const thread = new Worker(new URL('../master/judge-thread.js', import.meta.url), { workerData: source });
  thread.unref();
  try {
    const [lines] = (await once(thread, 'message', { signal })) as [readonly string[]];
    return lines;
  } finally {
    await thread.terminate();
  }
}

/** What a process that keeps its account needs. */
interface OwnOptions {
  readonly source: ConfigSource;
  /** The process that takes signals. */
  readonly pid: number;
  /** Told of each configuration that has come to serve. */
  readonly keep: (candidate: AcceptedCandidate) => void;
}

/** A process that keeps its account does everything itself. */
export function ownPrivileges({ source, pid, keep }: OwnOptions): Privileges {
  return {
    load: () => loadCandidate(source),
    findings: (signal) => judge(source, signal),
    settle: () => Promise.resolve(),
    async probe(ports) {
      for (const { address } of ports) await probePort(address);
    },
    openings: () => Promise.resolve(new Map()),
    connect: () => undefined,
    hold: () => undefined,
    async serving(candidate) {
      writePidFile(pidFileOf(candidate.plan), pid);
      keep(candidate);
    },
    async replaced(before, candidate) {
      const now = candidate.plan;
      keep(candidate);
      if (pidFileOf(before) === pidFileOf(now)) return;
      writePidFile(pidFileOf(now), pid);
      removePidFile(pidFileOf(before), pid);
    },
    refused: () => Promise.resolve(),
    reopen: () => Promise.resolve(),
    leave: () => undefined,
    async ended(served) {
      if (!served) return;
      removeSocketFiles(served);
      removePidFile(pidFileOf(served), pid);
    },
  };
}

function pidFileOf({ main }: GatewayPlan): string {
  return resolve(main.prefix, main.core.pidFile);
}
