import { resolve } from 'node:path';
import type { ConfigSource } from '../../pipeline.ts';
import type { GatewayPlan } from '../../plan/index.ts';
import { loadCandidate } from '../candidate.ts';
import { judge } from '../judge.ts';
import { removePidFile, writePidFile } from '../pid-file.ts';
import { probePort } from '../probe-port.ts';
import { removeSocketFiles } from '../socket-files.ts';
import type { Privileges } from './privileges.ts';

/** A process that stays who it is does everything itself. `pid` takes the signals. */
export function ownPrivileges(source: ConfigSource, pid: number): Privileges {
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
    async serving(plan) {
      writePidFile(pidFileOf(plan), pid);
    },
    async replaced(before, now) {
      if (pidFileOf(before) === pidFileOf(now)) return;
      writePidFile(pidFileOf(now), pid);
      removePidFile(pidFileOf(before), pid);
    },
    reopen: () => Promise.resolve(),
    leave: () => undefined,
    async ended(plan) {
      removeSocketFiles(plan);
      removePidFile(pidFileOf(plan), pid);
    },
  };
}

function pidFileOf({ main }: GatewayPlan): string {
  return resolve(main.prefix, main.core.pidFile);
}
