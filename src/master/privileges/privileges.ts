import type { MessagePort } from 'node:worker_threads';
import type { GatewayPlan, PortPlan } from '../../plan/index.ts';
import type { Openings } from '../../worker/index.ts';
import type { Accepted, Candidate } from '../candidate.ts';

/** What the master does with the rights that it was started with, whether it still has them or has to ask for them. */
export interface Privileges {
  /** Loads the configuration again. */
  load(): Promise<Candidate>;
  /** What the rules of `gw check` find in it, one line each. */
  findings(signal: AbortSignal): Promise<readonly string[]>;
  /** Before the first worker starts: from here on nothing in this process has more rights than the account that serves. */
  settle(candidate: Accepted): Promise<void>;
  /** Fails where one of these ports, which the gateway does not have yet, cannot be bound. */
  probe(ports: readonly PortPlan[]): Promise<void>;
  /** How a worker comes by ports that this process may not bind. */
  openings(ports: readonly PortPlan[]): Promise<Openings>;
  /** For a worker that starts: its port to the thread that accepts for it. */
  connect(workerId: number): MessagePort | undefined;
  /** A worker does not respond: it gets no connections from that thread any more. */
  hold(workerId: number): void;
  /** Every port accepts. */
  serving(candidate: Accepted): Promise<void>;
  /** The configuration that was loaded last has taken over. */
  replaced(before: GatewayPlan, now: Accepted): Promise<void>;
  /** The configuration that was loaded last will not serve: what was bound for it is closed. */
  refused(): Promise<void>;
  /** Log files were rotated: those of now can be opened when it resolves. */
  reopen(): Promise<void>;
  /** A graceful stop or a fast one begins: nobody should come any more. */
  leave(): void;
  /** The gateway has ended, or did not come to serve. */
  ended(served: GatewayPlan | undefined): Promise<void>;
}
