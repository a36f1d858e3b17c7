import { VERSION } from '../version.ts';
import type { ErrorLog } from '../log/index.ts';
import type { Master } from './master.ts';
import { type Outcome, PROTOCOL, type ToMaster, type ToSupervisor } from './protocol.ts';
import { Status } from './status.ts';

const ALIVE_MS = 1_000;

export function hasSupervisor(): boolean {
  return process.env['GW_SUPERVISOR'] !== undefined && process.connected;
}

export function tellSupervisor(message: ToSupervisor): void {
  if (!hasSupervisor()) return;
  // The channel may close at any time.
  process.send?.(message, undefined, undefined, () => undefined);
}

/**
 * Returns why this program cannot serve under its supervisor, which may be older after an upgrade; `undefined` if it
 * can.
 */
export function supervisorFault(): string | undefined {
  const number = process.env['GW_PROTOCOL'];
  if (process.env['GW_SUPERVISOR'] === undefined || number === String(PROTOCOL)) return undefined;
  return `gw/${VERSION} needs another supervisor than the one that runs (its messages have number ${number}, not ${PROTOCOL}): restart needed`;
}

/** Tells the supervisor that this process does not serve. Resolves when the message is sent. */
export function tellRefusal(reason: string): Promise<void> {
  return new Promise((resolve) => {
    if (!hasSupervisor()) return resolve();
    process.send?.({ type: 'unable', reason } satisfies ToSupervisor, undefined, undefined, () => resolve());
  });
}

/** Performs what the supervisor asks. `replaced` is called when this master has ended for another one. */
export function obeySupervisor(master: Master, log: ErrorLog, replaced: () => void): void {
  if (process.env['GW_SUPERVISOR'] === undefined) return;
  process.on('message', (message: ToMaster) => {
    if (message.type === 'hand over') void master.handOver();
    else if (message.type === 'carry') tellSupervisor({ type: 'carried', part: master.nextPart() });
    else if (message.type === 'replaced') {
      void master.stop({ graceful: true, isReplaced: true }).then(replaced);
      void master.left().then(() => tellSupervisor({ type: 'left' }));
    } else if (message.type === 'killed') log.write('alert', message.reason);
    else if (message.type === 'upgrade failed')
      log.write('error', `upgrade failed, the running program goes on: ${message.reason}`);
  });
}

/** Tells commands what serves, and how reloads and upgrades went: through the supervisor, or itself without one. */
export class Telling {
  readonly #status = new Status(process.pid);

  /** Tells that the gateway serves, and sends heartbeats to the supervisor from then on. */
  serves(pidFile: string): void {
    const facts = { version: VERSION, pidFile };
    if (process.env['GW_SUPERVISOR'] === undefined) return this.#status.serves(facts);
    tellSupervisor({ type: 'ready', ...facts });
    setInterval(() => tellSupervisor({ type: 'alive' }), ALIVE_MS).unref();
  }

  ended(outcome: Outcome, pidFile: string): void {
    if (process.env['GW_SUPERVISOR'] === undefined) this.#status.ended(outcome, pidFile);
    else tellSupervisor({ type: 'outcome', pidFile, ...outcome });
  }
}
