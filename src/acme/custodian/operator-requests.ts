import type { IssuerState } from './issuer-state.ts';
import type { KeptEntry } from './kept-entry.ts';

interface Desk {
  readonly state: IssuerState;
  /** Requests that were carried out and could not be removed, as in a directory of others: they count once. */
  readonly done: Set<string>;
  entry(id: string): KeptEntry | undefined;
  tell(entry: KeptEntry, message: string): void;
  /** Told of an id that the issuer has no certificate of. */
  unknown(id: string): void;
}

/** Takes up what operators have asked for in the state directory (`gw acme renew`, `gw acme revoke`). */
export async function takeRequests({ state, done, ...desk }: Desk): Promise<void> {
  const requests = new Map((await state.requests()).map((one) => [`${one.kind} ${one.id}`, one]));
  for (const name of done) if (!requests.has(name)) done.delete(name);
  for (const [name, request] of requests) {
    const entry = desk.entry(request.id);
    if (!done.has(name) && entry) {
      const isRevoked = request.kind === 'revoked';
      desk.tell(entry, isRevoked ? 'it was revoked, and is ordered anew' : 'an operator wants it renewed');
      entry.want();
      await state.saveRecord(entry.id, entry);
    } else if (!done.has(name)) desk.unknown(request.id);
    if (await state.endRequest(request)) done.delete(name);
    else done.add(name);
  }
}
