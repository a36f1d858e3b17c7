import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { ErrorLog } from '../../log/index.ts';
import { makeKey } from '../certificates/index.ts';
import type { AcmeIssuer } from '../plan.ts';
import { openAcmeClient } from '../protocol/index.ts';
import type { IssuerState } from './issuer-state.ts';
import type { Session } from './order.ts';

/** The authority, or the account there, cannot be used: that concerns all certificates. */
export class SessionFault extends Error {}

interface AccountParts {
  readonly issuer: AcmeIssuer;
  readonly state: IssuerState;
  readonly log: ErrorLog;
  readonly signal: AbortSignal;
}

/**
 * Opens the account at the authority of an issuer: the known one, or a new one. A new key is stored before the authority is
 * told of it: killed in between, the next start finds the account by the key. Rejects with a `SessionFault` in one line, and its
 * cause.
 */
export function openSession(parts: AccountParts): Promise<Session> {
  return open(parts).catch((error: Error) => {
    throw new SessionFault(error.message, { cause: error });
  });
}

async function open({ issuer, state, log, signal }: AccountParts): Promise<Session> {
  const accountKey = await accountKeyOf(issuer, state);
  const client = openAcmeClient({ issuer, accountKey, log, signal });
  const known = await state.account(issuer.uri);
  const { url } = await client.account(known?.url);
  if (url !== known?.url) {
    const instead = known ? ` instead of ${known.url}, which it no longer knows` : '';
    log.write('notice', `issuer "${issuer.name}": the authority has the account ${url}${instead}`);
    await state.saveAccount({ authority: issuer.uri, url });
  }
  return { client, accountUrl: url };
}

async function accountKeyOf({ accountKey }: AcmeIssuer, state: IssuerState): Promise<KeyObject> {
  if ('file' in accountKey) return createPrivateKey(accountKey.text);
  const stored = await state.accountKey();
  const known = stored === undefined ? undefined : privateKey(stored);
  if (known) return known;
  const key = await makeKey(accountKey.generate);
  await state.saveAccountKey(String(key.export({ type: 'pkcs8', format: 'pem' })));
  return key;
}

function privateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}
