import { closeSync, openSync, readFileSync } from 'node:fs';
import { devNull } from 'node:os';
import type { ErrorLog } from '../../log/index.ts';
import type { Connections } from '../../zone/index.ts';

/** How many files the process may have open, sockets among them; Node has raised the soft limit to the hard one. */
function descriptorLimit(): number {
  return Number(softLimit()) || Infinity;
}

function softLimit(): unknown {
  try {
    return /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  } catch {
    // Where there is no /proc the report knows it, ten times as slowly.
    const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
    return report.userLimits?.open_files?.soft;
  }
}

/** Clients get this part of all descriptors: each may need another one, for its upstream or a file. */
const CLIENTS_SHARE = 1 / 2;
/** Below this part of all descriptors clients alone cannot have used them up. */
const HARMLESS_SHARE = 1 / 8;
/** With less than this part of its places free a worker is crowded (nginx: ngx_drain_connections). */
const CROWDED_SHARE = 1 / 16;

/** Makes room for a connection; false where that cannot be done. */
type MakeRoom = () => boolean;

/**
 * Which connections a worker takes: no more than `worker_connections`, and none that would leave the process without
 * descriptors for upstreams and files. uWebSockets.js would spin on a connection that it cannot accept.
 */
export class Admission {
  private readonly log: ErrorLog;
  private readonly connections: Connections;
  private readonly descriptors = descriptorLimit();
  private most = Infinity;
  private open = 0;
  /** What was logged since there last was room. */
  private told: '' | 'reusing' | 'refusing' = '';

  constructor(log: ErrorLog, connections: Connections) {
    this.log = log;
    this.connections = connections;
  }

  /** Connections that are open are not cut when the limit falls. */
  use(workerConnections: number | undefined): void {
    this.most = workerConnections ?? Infinity;
  }

  /** Whether responses should close their connections. */
  get isCrowded(): boolean {
    return this.told !== '' || this.most - this.open < this.most * CROWDED_SHARE;
  }

  /** Whether a connection that was accepted may stay. */
  admit(makeRoom: MakeRoom = () => false): boolean {
    const { accepted, handled, refused, active } = this.connections;
    accepted.add();
    if (!this.hasRoom() && !this.reuse(makeRoom)) {
      refused.add();
      return false;
    }
    handled.add();
    active.add(1);
    this.open++;
    return true;
  }

  /** A connection that was admitted is closed. */
  left(): void {
    this.connections.active.add(-1);
    this.open--;
  }

  private hasRoom(): boolean {
    const places = this.most - this.open;
    const ofDescriptors = this.clientDescriptors();
    if (!isScarce(places, this.most) && !isScarce(ofDescriptors, this.descriptors)) this.told = '';
    return places > 0 && ofDescriptors > 0;
  }

  private reuse(makeRoom: MakeRoom): boolean {
    const isMade = makeRoom();
    const cause =
      this.open >= this.most
        ? `${this.most} worker_connections are not enough`
        : `accept() stops (24: Too many open files): clients get ${CLIENTS_SHARE * 100}% of ${this.descriptors}`;
    if (!isMade && this.told !== 'refusing') this.log.write('alert', cause);
    else if (isMade && this.told === '') this.log.write('warn', `${cause}, reusing connections`);
    if (this.told !== 'refusing') this.told = isMade ? 'reusing' : 'refusing';
    return isMade;
  }

  /** How many descriptors clients may still take. The kernel gives the lowest that is free, so all below it are in use. */
  private clientDescriptors(): number {
    if (this.connections.open() < this.descriptors * HARMLESS_SHARE) return Infinity;
    try {
      const descriptor = openSync(devNull, 'r');
      closeSync(descriptor);
      return Math.ceil(this.descriptors * CLIENTS_SHARE) - descriptor;
    } catch {
      return 0;
    }
  }
}

/** Whether so little is left that a worker is crowded. Of what has no limit there is always enough. */
function isScarce(left: number, limit: number): boolean {
  return limit !== Infinity && left <= limit * CROWDED_SHARE;
}
