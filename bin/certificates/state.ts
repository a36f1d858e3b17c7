import { statSync } from 'node:fs';
import {
  type AcmeIssuer,
  type ChainFacts,
  isPauseOn,
  IssuerState,
  nextOrderMs,
  readChain,
  renewalMs,
  StateFiles,
} from '../../src/acme/index.ts';

/** What is kept of a certificate. */
export interface Kept {
  /** Absent: there is none that can be read. */
  readonly facts: ChainFacts | undefined;
  /** When it is ordered, in ms since the epoch. */
  readonly nextMs: number;
  readonly fault: string;
}

/** Opens the state of an issuer. Failures to write are thrown; nothing is retried. */
export function openState({ statePath }: AcmeIssuer): IssuerState {
  if (statePath === undefined) throw new Error('the state is kept in memory only ("state_path off")');
  const failed = (message: string): void => {
    throw new Error(message);
  };
  const files = new StateFiles({ root: statePath, workerId: 0, failed, recovered: () => undefined });
  return new IssuerState({ files, broken: () => undefined });
}

/** The ids of the certificates that an issuer keeps. */
export async function storedIds(issuer: AcmeIssuer): Promise<readonly string[]> {
  return issuer.statePath === undefined ? [] : openState(issuer).ids();
}

/** Reads what is kept of a certificate. */
export async function keptOf(issuer: AcmeIssuer, id: string): Promise<Kept> {
  if (issuer.statePath === undefined) return { facts: undefined, nextMs: 0, fault: 'kept in memory only' };
  const state = openState(issuer);
  const { pair, attempts, window, order } = await state.certificate(id);
  const pause = order ? undefined : await state.pause(issuer.uri);
  const facts = pair && (await readChain(pair.chain).catch(() => undefined));
  const { renewBeforeMs } = issuer;
  const renewsMs = facts && renewalMs(facts, { renewBeforeMs, window: window?.chosen });
  const nowMs = Date.now();
  const dueMs = nextOrderMs(attempts, renewsMs, nowMs);
  if (!pause || !isPauseOn(pause, nowMs)) return { facts, nextMs: dueMs, fault: attempts.fault };
  const fault = attempts.fault === '' && dueMs <= nowMs ? pause.fault : attempts.fault;
  return { facts, nextMs: Math.max(dueMs, pause.untilMs), fault };
}

/**
 * Does something with the rights of the account that owns the state of an issuer: root could be led elsewhere by links in
 * a directory of that account, and would leave files that it cannot read.
 */
export async function asOwnerOf<T>({ statePath }: AcmeIssuer, act: () => Promise<T>): Promise<T> {
  const owner = statePath === undefined ? undefined : statSync(statePath, { throwIfNoEntry: false });
  if (process.geteuid?.() !== 0 || !owner || owner.uid === 0) return act();
  const groups = process.getgroups?.() ?? [];
  process.setgroups?.([owner.gid]);
  process.setegid?.(owner.gid);
  process.seteuid?.(owner.uid);
  try {
    return await act();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
    process.setgroups?.(groups);
  }
}
