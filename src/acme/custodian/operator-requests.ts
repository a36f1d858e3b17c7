import { setTimeout as sleep } from 'node:timers/promises';
import type { IssuerState } from './issuer-state.ts';
import type { KeptEntry } from './kept-entry.ts';

/** A request that cannot be removed would be carried out again and again. */
const PAUSE_MS = 60_000;

interface Desk {
  readonly state: IssuerState;
  readonly signal: AbortSignal;
  entry(id: string): KeptEntry | undefined;
  tell(entry: KeptEntry, message: string): void;
  /** Told of an id that the issuer has no certificate of. */
  unknown(id: string): void;
}

/** Takes up what operators have asked for in the state directory (`gw acme renew`, `gw acme revoke`). */
export async function takeRequests({ state, signal, ...desk }: Desk): Promise<void> {
  for (const request of await state.requests()) {
    const entry = desk.entry(request.id);
    if (entry) {
      const isRevoked = request.kind === 'revoked';
      desk.tell(entry, isRevoked ? 'it was revoked, and is ordered anew' : 'an operator wants it renewed');
      entry.want();
      await state.saveRecord(entry.id, entry);
    } else desk.unknown(request.id);
    if (!(await state.endRequest(request)))
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}
