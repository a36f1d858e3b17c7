import { setTimeout as sleep } from 'node:timers/promises';
import { type ProviderClient, ProviderFault } from './provider-client.ts';
import type { Session, SessionStore } from './sessions.ts';

/** Tokens are renewed when this part of the time of the access token is over, or a minute before its end. */
const RENEWAL = 0.8;
const LONGEST_AHEAD_MS = 60_000;
/** A try takes less than this. */
const LONGEST_MS = 20_000;
/** After a failed try, no worker tries again for this long. */
const PAUSE_MS = 5_000;
const POLL_MS = 20;
/** For how long a renewal of another gateway may be on its way in a cluster. */
const SETTLING_MS = 1_000;
/** Requests of one worker that wait for another's try. */
const MOST_WAITING = 1_000;

/** A session for a request; `away`: its tokens have ended, and the provider cannot be asked for others. */
export type Refreshed = Session | 'away' | undefined;

interface RefresherParts {
  /** False: sessions keep the tokens of their login. */
  readonly renews: boolean;
  /** The gateways of a cluster share the sessions. */
  readonly isShared: boolean;
  readonly client: Pick<ProviderClient, 'renew'>;
  readonly sessions: SessionStore;
  /** Called when a session gets no new tokens. */
  readonly tell: (fault: ProviderFault) => void;
}

/** Renews the tokens of sessions before they end, each session by one request at a time over all workers. */
export class Refresher {
  readonly #client: RefresherParts['client'];
  readonly #sessions: SessionStore;
  readonly #tell: RefresherParts['tell'];
  readonly #renews: boolean;
  readonly #settlingMs: number;
  #waiting = 0;

  constructor({ client, sessions, tell, renews, isShared }: RefresherParts) {
    this.#client = client;
    this.#sessions = sessions;
    this.#tell = tell;
    this.#renews = renews;
    this.#settlingMs = isShared ? SETTLING_MS : 0;
  }

  /** Returns the session with tokens that have not ended, and a promise only where a request has to wait for them. */
  refreshed(session: Session): Refreshed | Promise<Refreshed> {
    const { access, refreshToken } = session.tokens;
    if (!this.#renews || !access || refreshToken === undefined) return session;
    if (Date.now() < dueMs(access)) return session;
    if (this.#sessions.isFirst('refresh', session.id, LONGEST_MS)) return this.#renew(session);
    return hasEnded(session) ? this.#others(session) : session;
  }

  async #renew({ id, tokens: seen }: Session): Promise<Refreshed> {
    const session = this.#sessions.find(id);
    // Another request may have been faster.
    if (!session || session.tokens.accessToken !== seen.accessToken) {
      this.#sessions.forget('refresh', id);
      return session;
    }
    try {
      const tokens = await this.#client.renew(session);
      this.#sessions.replace(id, tokens);
      this.#sessions.forget('refresh', id);
      return this.#sessions.find(id);
    } catch (error) {
      if (!(error instanceof ProviderFault)) throw error;
      if (error.kind !== 'away') return this.#refused(session, error);
      this.#tell(error);
      this.#sessions.pause('refresh', id, PAUSE_MS);
      return hasEnded(session) ? 'away' : session;
    }
  }

  /** Ends a session without new tokens, unless another gateway has them: a provider takes a refresh token once. */
  async #refused({ id, tokens: before }: Session, fault: ProviderFault): Promise<Refreshed> {
    const until = Date.now() + this.#settlingMs;
    for (;;) {
      const session = this.#sessions.find(id);
      if (!session || session.tokens.accessToken !== before.accessToken) {
        this.#sessions.forget('refresh', id);
        return session;
      }
      if (Date.now() >= until) break;
      await sleep(POLL_MS);
    }
    this.#tell(fault);
    this.#sessions.end(id);
    return undefined;
  }

  /** Waits until another request has renewed the tokens. */
  async #others({ id }: Session): Promise<Refreshed> {
    if (this.#waiting >= MOST_WAITING) return 'away';
    this.#waiting += 1;
    const until = Date.now() + LONGEST_MS;
    try {
      while (Date.now() < until && !this.#sessions.isPaused('refresh', id)) {
        const session = this.#sessions.find(id);
        if (!session || !hasEnded(session)) return session;
        await sleep(POLL_MS);
      }
      return 'away';
    } finally {
      this.#waiting -= 1;
    }
  }
}

type Access = NonNullable<Session['tokens']['access']>;

function dueMs({ sinceMs, untilMs }: Access): number {
  return Math.max(sinceMs + (untilMs - sinceMs) * RENEWAL, untilMs - LONGEST_AHEAD_MS);
}

function hasEnded({ tokens: { access } }: Session): boolean {
  return access !== undefined && Date.now() >= access.untilMs;
}
