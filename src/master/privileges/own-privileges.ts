import { resolve } from 'node:path';
import type { ConfigSource } from '../../pipeline.ts';
import type { GatewayPlan } from '../../plan/index.ts';
import { loadCandidate } from '../candidate.ts';
import type { Accepted } from '../candidate.ts';
import { judge } from '../judge.ts';
import { removePidFile, writePidFile } from '../pid-file.ts';
import { probePort } from '../probe-port.ts';
import { removeSocketFiles } from '../socket-files.ts';
import type { Privileges } from './privileges.ts';

/** What a process that keeps its account needs. */
export interface OwnOptions {
  readonly source: ConfigSource;
  /** The process that takes signals. */
  readonly pid: number;
  /** Told of each configuration that has come to serve. */
  readonly keep: (candidate: Accepted) => void;
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
