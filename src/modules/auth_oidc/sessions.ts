import { createHash, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { isObject, parseJson } from '../../json.ts';
import { readVerified, type VerifiedToken } from '../../tokens/index.ts';
import { type Dictionary, DictionaryFault } from '../../zone/index.ts';
import type { Provider } from './directives.ts';
import { Seal } from './seal.ts';

/** The tokens of a client that has logged in. */
export interface SessionTokens {
  readonly idToken: string;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** When the access token was given, and when it ends, in milliseconds since the epoch; absent: it has no end. */
  readonly access?: { readonly sinceMs: number; readonly untilMs: number } | undefined;
  /** What the provider knows of the client, as JSON. */
  readonly userinfo?: string | undefined;
}

/** A session as a request sees it. */
export interface Session {
  readonly id: string;
  readonly tokens: SessionTokens;
  /** It was verified at the login. */
  readonly idToken: VerifiedToken;
  /** The members of the user information, if it was asked for. */
  readonly userinfo: Readonly<Record<string, unknown>>;
}

/** Whose sessions a logout ends: those of a session at the provider, or else all of a client. */
interface LogoutSubject {
  readonly sid?: string | undefined;
  readonly sub?: string | undefined;
}

const ID = /^[\w-]{43}$/;
const ID_BYTES = 32;
/** Largest session. */
const MOST_BYTES = 65_536;
/** Sessions that a worker keeps opened. */
const MOST_OPENED = 1_000;

interface Opened {
  /** The entry that it was opened from. */
  readonly entry: string;
  readonly session: Session;
}

interface StoreOptions {
  readonly dictionary: Dictionary;
  readonly provider: Pick<Provider, 'name' | 'issuer' | 'clientId' | 'sessionTimeoutMs'>;
}

/** The sessions of a provider are full, busy, or this one is too large for them. */
export class StoreFault extends Error {}

/**
 * The sessions of one provider, in memory that all workers share. A session is stored under the hash of its id and sealed
 * with it, so that who reads the store can neither use a session nor read its tokens.
 */
export class Sessions {
  readonly #dictionary: Dictionary;
  /** What the keys of entries begin with: several providers may share a dictionary, and one may be replaced. */
  readonly #realm: string;
  readonly #timeoutMs: number;
  readonly #opened = new LRUCache<string, Opened>({ max: MOST_OPENED });

  constructor({ dictionary, provider: { name, issuer, clientId, sessionTimeoutMs } }: StoreOptions) {
    this.#dictionary = dictionary;
    this.#realm = `${name}:${digest(JSON.stringify([issuer, clientId])).slice(0, 8)}`;
    this.#timeoutMs = sessionTimeoutMs;
  }

  /** Stores a new session and returns its id. Throws a `StoreFault`. */
  add(tokens: SessionTokens): string {
    const id = randomBytes(ID_BYTES).toString('base64url');
    this.write(id, tokens);
    return id;
  }

  /** Stores the tokens of a session, whose time begins again. Throws a `StoreFault`. */
  write(id: string, tokens: SessionTokens): void {
    const { sid, sub } = readVerified(tokens.idToken)?.claims.members ?? {};
    const marks = [this.#mark('sid', sid), this.#mark('sub', sub)];
    const entry = [...marks, sealOf(id).seal(JSON.stringify(tokens))].join(' ');
    if (entry.length > MOST_BYTES) throw new StoreFault(`a session has more than ${MOST_BYTES} bytes`);
    this.#ask(() => this.#dictionary.set(this.#key(id), entry, this.#timeoutMs));
  }

  /** Returns a session by the id in its cookie. Throws a `StoreFault`. */
  find(id: string): Session | undefined {
    if (!ID.test(id)) return undefined;
    const key = this.#key(id);
    const entry = this.#ask(() => this.#dictionary.get(key));
    if (typeof entry !== 'string') return undefined;
    const known = this.#opened.get(key);
    if (known?.entry === entry) return known.session;
    const session = openEntry(id, entry);
    if (session) this.#opened.set(key, { entry, session });
    return session;
  }

  end(id: string): void {
    const key = this.#key(id);
    this.#opened.delete(key);
    this.#ask(() => this.#dictionary.delete(key));
  }

  /** Ends all sessions of a subject, and returns how many there were. */
  async endAll({ sid, sub }: LogoutSubject): Promise<number> {
    const index = sid === undefined ? 1 : 0;
    const mark = sid === undefined ? this.#mark('sub', sub) : this.#mark('sid', sid);
    let ended = 0;
    for (let cursor: number | undefined = 0; cursor !== undefined;) {
      const part = this.#part(cursor);
      for (const { key, value } of part.entries) {
        if (!this.#isSession(key) || String(value).split(' ', 2)[index] !== mark) continue;
        this.#opened.delete(key);
        this.#ask(() => this.#dictionary.delete(key));
        ended += 1;
      }
      cursor = part.next;
      await nextTurn();
    }
    return ended;
  }

  /**
   * Returns whether a thing happens for the first time: a state or a logout token is used, or a session is about to be
   * refreshed. It counts as happened for `ttlMs`, or until `forget`.
   */
  isFirst(kind: 'state' | 'logout' | 'refresh', name: string, ttlMs: number): boolean {
    return this.#ask(() => this.#dictionary.add(this.#nameOf(kind, name), true, ttlMs));
  }

  forget(kind: 'refresh', name: string): void {
    this.#ask(() => this.#dictionary.delete(this.#nameOf(kind, name)));
  }

  /** Marks a thing as one that has failed and is not tried again for `ttlMs`. */
  pause(kind: 'refresh', name: string, ttlMs: number): void {
    this.#ask(() => this.#dictionary.set(this.#nameOf(kind, name), false, ttlMs));
  }

  isPaused(kind: 'refresh', name: string): boolean {
    return this.#ask(() => this.#dictionary.get(this.#nameOf(kind, name))) === false;
  }

  /** How many sessions there are. */
  get count(): number {
    let count = 0;
    for (let cursor: number | undefined = 0; cursor !== undefined;) {
      const part = this.#part(cursor);
      for (const { key } of part.entries) if (this.#isSession(key)) count += 1;
      cursor = part.next;
    }
    return count;
  }

  /** A secret that all workers, and all gateways of a cluster, have as long as the store has it. */
  secret(): string {
    const name = `${this.#realm} secret`;
    this.#ask(() => this.#dictionary.add(name, randomBytes(ID_BYTES).toString('base64url'), 0));
    return String(this.#ask(() => this.#dictionary.get(name)));
  }

  #part(cursor: number): ReturnType<Dictionary['scan']> {
    return this.#ask(() => this.#dictionary.scan(cursor));
  }

  #ask<T>(ask: () => T): T {
    try {
      return ask();
    } catch (error) {
      if (error instanceof DictionaryFault)
        throw new StoreFault(`sessions of "${this.#realm}": ${error.message}`);
      throw error;
    }
  }

  #key(id: string): string {
    return this.#nameOf('session', id);
  }

  #isSession(key: string): boolean {
    return key.startsWith(`${this.#realm} session `);
  }

  #nameOf(kind: string, name: string): string {
    return `${this.#realm} ${kind} ${digest(name)}`;
  }

  /** What a logout finds a session by, without telling who it belongs to. */
  #mark(kind: string, value: unknown): string {
    return typeof value === 'string' ? digest(JSON.stringify([this.#realm, kind, value])) : '-';
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function sealOf(id: string): Seal {
  return new Seal(id, 'session');
}

function openEntry(id: string, entry: string): Session | undefined {
  const text = sealOf(id).open(entry.split(' ', 3)[2] ?? '');
  const tokens = text === undefined ? undefined : (parseJson(text) as SessionTokens | undefined);
  const idToken = tokens && readVerified(tokens.idToken);
  if (!tokens || !idToken) return undefined;
  const userinfo = tokens.userinfo === undefined ? {} : parseJson(tokens.userinfo);
  return { id, tokens, idToken, userinfo: isObject(userinfo) ? userinfo : {} };
}
