import { statSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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
import { systemFailure } from '../../src/system/index.ts';

/** What is kept of a certificate. */
export interface Kept {
  /** Absent: there is none that can be read. */
  readonly facts: ChainFacts | undefined;
  /** When it is ordered, in ms since the epoch. `undefined`: only the gateway knows. */
  readonly nextMs: number | undefined;
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
  const { statePath } = issuer;
  if (statePath === undefined) return { facts: undefined, nextMs: undefined, fault: IN_MEMORY };
  const state = openState(issuer);
  const { pair, attempts, window, order } = await state.certificate(id);
  const pause = order ? undefined : await state.pause(issuer.uri);
  const facts = pair && (await readChain(pair.chain).catch(() => undefined));
  const { renewBeforeMs } = issuer;
  const unwritten = await writingFault(statePath);
  if (unwritten !== undefined) return { facts, nextMs: undefined, fault: `${IN_MEMORY}: ${unwritten}` };
  const renewsMs = facts && renewalMs(facts, { renewBeforeMs, window: window?.chosen });
  const nowMs = Date.now();
  const dueMs = nextOrderMs(attempts, renewsMs, nowMs);
  if (!pause || !isPauseOn(pause, nowMs)) return { facts, nextMs: dueMs, fault: attempts.fault };
  const fault = attempts.fault === '' && dueMs <= nowMs ? pause.fault : attempts.fault;
  return { facts, nextMs: Math.max(dueMs, pause.untilMs), fault };
}

const IN_MEMORY = 'kept in memory only';
/** An empty file may find room on a full disk. */
const PROBE = Buffer.alloc(4_096);

/** Why the gateway cannot write a directory. `undefined`: it can, or this account does not know. */
async function writingFault(statePath: string): Promise<string | undefined> {
  if (statSync(statePath, { throwIfNoEntry: false })?.uid !== process.geteuid?.()) return undefined;
  // The gateway removes a file of this name if this process is killed.
  const file = join(statePath, `probe.${process.pid}.0.new`);
  try {
    await writeFile(file, PROBE, { flag: 'wx', mode: 0o600 });
    return undefined;
  } catch (error) {
    return systemFailure('write', statePath, error);
  } finally {
    await rm(file, { force: true }).catch(() => undefined);
  }
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
