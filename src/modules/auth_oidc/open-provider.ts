import { createHash } from 'node:crypto';
import type { WorkerScope } from '../../contract/index.ts';
import { openDictionary, zoneIdentity } from '../../zone/index.ts';
import { type Provider, storeOf } from './provider.ts';
import { type KnownProvider, ProviderClient, type ProviderFault } from './provider-client.ts';
import { Refresher } from './refresher.ts';
import { Seal } from './seal.ts';
import { SealedSessions } from './sealed-sessions.ts';
import { Sessions, type SessionStore } from './sessions.ts';

/** A provider as one worker uses it. */
export interface OpenProvider {
  readonly provider: Provider;
  readonly client: ProviderClient;
  readonly sessions: SessionStore;
  readonly refresher: Refresher;
  /** Seals the cookies of logins. */
  readonly seal: () => Seal;
  readonly close: () => void;
  /** True: there are no sessions, and a login is only told of. */
  readonly isExplained: boolean;
}

/** The providers of one worker, by name. */
export type OpenProviders = ReadonlyMap<string, OpenProvider>;

/** Returns the size of the shared memory for sessions that no dictionary of the configuration holds. */
export function ownStoreBytes({ cookieSecret }: Provider): number {
  return cookieSecret === undefined ? 8_388_608 : 262_144;
}

const SESSIONS = { name: 'gw_oidc_sessions', help: 'Sessions of clients that have logged in.' };

interface Opening {
  /** True: requests are explained, and nobody is asked for anything. */
  readonly isExplained: boolean;
  readonly worker: WorkerScope;
  readonly known: KnownProvider;
  readonly oauth: typeof import('oauth4webapi');
}

/** Opens what a worker needs for a provider. */
export function openProvider(provider: Provider, opening: Opening): OpenProvider {
  const { worker } = opening;
  const memory = worker.zone(storeOf(provider));
  const rules = storeRules(provider, worker);
  const settings = createHash('sha256')
    .update(JSON.stringify([provider, rules]))
    .digest('base64url');
  return worker.share(
    `auth_oidc ${zoneIdentity(memory)} ${settings}`,
    () => open({ provider, rules, memory }, opening),
    ({ close }) => close(),
  );
}

/** What the configuration says of a store of sessions. */
interface StoreRules {
  /** A full one forgets sessions: a dictionary of the configuration only if that says so. */
  readonly evict: boolean;
  /** The gateways of a cluster share it. */
  readonly isShared: boolean;
}

function storeRules({ sessionStore }: Provider, worker: WorkerScope): StoreRules {
  const zone = sessionStore === undefined ? undefined : worker.zoneDeclaration(sessionStore);
  if (zone?.kind !== 'dictionary') return { evict: true, isShared: false };
  return { evict: zone.evicts === true, isShared: zone.isShared === true };
}

interface Opened {
  readonly provider: Provider;
  readonly rules: StoreRules;
  readonly memory: SharedArrayBuffer;
}

function open(
  { provider, rules: { evict, isShared }, memory }: Opened,
  { worker, known, oauth, isExplained }: Opening,
): OpenProvider {
  const dictionary = openDictionary(memory, worker.workerId, { evict });
  const { name, clientSecret, cookieSecret } = provider;
  const stored = new Sessions({ dictionary, provider });
  const key = cookieSecret === undefined ? undefined : Buffer.from(cookieSecret, 'hex');
  const sessions = key ? new SealedSessions(provider, key, stored) : stored;
  const client = new ProviderClient(provider, { known, oauth });
  const count = { metric: SESSIONS, labels: { provider: name }, read: () => sessions.count };
  const close = key ? () => undefined : worker.metrics.collect('gauge', count);
  const tell = ({ kind, message }: ProviderFault): void =>
    worker.log.write(
      kind === 'away' ? 'error' : 'info',
      `a session at "${name}" gets no new tokens: ${message}`,
    );
  const purpose = `login ${name}`;
  // Any gateway with this secret can finish a login; without one, any worker that has the store.
  const fixed = key || clientSecret !== undefined ? new Seal(key ?? clientSecret ?? '', purpose) : undefined;
  return {
    close,
    isExplained,
    provider,
    client,
    sessions,
    refresher: new Refresher({ client, sessions, tell, isShared, renews: provider.refresh }),
    seal: () => fixed ?? new Seal(sessions.secret(), purpose),
  };
}
