import { LRUCache } from 'lru-cache';
import { parseJson } from '../../json.ts';
import { LONGEST_SESSION } from './cookies.ts';
import type { Provider } from './provider.ts';
import { Seal } from './seal.ts';
import {
  type Session,
  sessionFrom,
  type Sessions,
  type SessionStore,
  type SessionTokens,
  StoreFault,
} from './sessions.ts';

/** What is sealed into a cookie. */
interface SealedSession {
  readonly tokens: SessionTokens;
  readonly endsMs: number;
}

/** Characters of the cookies that a worker keeps opened. */
const MOST_OPENED = 2_097_152;

interface Opened {
  readonly session: Session;
  readonly endsMs: number;
}

/**
 * Sessions that are in the cookies of clients: the id of a session is the session, sealed. Nothing can end one before its
 * time but its client. Shared memory only has what must happen once.
 */
export class SealedSessions implements SessionStore {
  readonly #seal: Seal;
  readonly #timeoutMs: number;
  readonly #once: Sessions;
  readonly #opened = new LRUCache<string, Opened>({
    maxSize: MOST_OPENED,
    sizeCalculation: (_opened, value) => value.length,
  });

  constructor({ sessionTimeoutMs, issuer, clientId }: Provider, secret: Uint8Array, once: Sessions) {
    this.#seal = new Seal(secret, `session ${JSON.stringify([issuer, clientId])}`);
    this.#timeoutMs = sessionTimeoutMs;
    this.#once = once;
  }

  add(tokens: SessionTokens): string {
    const session: SealedSession = { tokens, endsMs: Date.now() + this.#timeoutMs };
    const value = this.#seal.seal(JSON.stringify(session));
    if (value.length > LONGEST_SESSION)
      throw new StoreFault(`a session in cookies has more than ${LONGEST_SESSION} bytes`);
    return value;
  }

  find(value: string): Session | undefined {
    const opened = this.#opened.get(value) ?? this.#open(value);
    return opened && opened.endsMs > Date.now() ? opened.session : undefined;
  }

  #open(value: string): Opened | undefined {
    const text = this.#seal.open(value);
    const sealed = text === undefined ? undefined : (parseJson(text) as SealedSession | undefined);
    const session = sealed && sessionFrom(value, sealed.tokens);
    if (!session) return undefined;
    const opened = { session, endsMs: sealed.endsMs };
    this.#opened.set(value, opened);
    return opened;
  }

  isFirst(kind: 'state' | 'logout' | 'refresh', name: string, ttlMs: number): boolean {
    return this.#once.isFirst(kind, name, ttlMs);
  }

  secret(): string {
    return this.#once.secret();
  }

  end(): void {}
  replace(): void {}
  endBySid(): void {}
  async endAll(): Promise<void> {}
  forget(): void {}
  pause(): void {}
  isPaused(): boolean {
    return false;
  }

  /** Nobody knows how many cookies there are. */
  get count(): number {
    return 0;
  }
}
