import { createHash, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { isObject, parseJson } from '../../json.ts';
import { readVerified, type VerifiedToken } from '../../tokens/index.ts';
import { type Dictionary, DictionaryFault } from '../../zone/index.ts';
import type { Provider } from './provider.ts';
import { Seal } from './seal.ts';

/** The tokens of a client that has logged in. */
export interface SessionTokens {
  readonly idToken: string;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** When the access token was given, and when it ends, in milliseconds since the epoch; absent: it has no end. */
  readonly access?: { readonly sinceMs: number; readonly untilMs: number } | undefined;
  /** The id of the session at the provider; a later ID token may lack it. */
  readonly sid?: string | undefined;
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
const NO_MARK = '-';
const ID_BYTES = 32;
/** Largest session. */
const MOST_BYTES = 65_536;
/** Sessions that are known under one id of the provider. */
const MOST_OF_SID = 8;
/** A store of this size takes 20 ms to look through. */
const LARGE_BYTES = 33_554_432;
/** How often the index of a session that is used counts as used. */
const INDEX_MS = 60_000;
/** Characters of the entries that a worker keeps opened; tokens and their claims take as much again. */
const MOST_OPENED = 4_194_304;

interface Opened {
  readonly key: string;
  /** The entry that it was opened from. */
  readonly entry: string;
  readonly session: Session;
  /** When the index was used last. */
  usedMs: number;
}

interface StoreOptions {
  readonly dictionary: Dictionary;
  readonly provider: Pick<Provider, 'name' | 'issuer' | 'clientId' | 'sessionTimeoutMs'>;
}

/** The sessions of a provider. */
export type SessionStore = Pick<Sessions, keyof Sessions>;

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
  readonly #opened = new LRUCache<string, Opened>({
    maxSize: MOST_OPENED,
    sizeCalculation: ({ entry }) => entry.length,
  });

  constructor({ dictionary, provider: { name, issuer, clientId, sessionTimeoutMs } }: StoreOptions) {
    this.#dictionary = dictionary;
    this.#realm = `${name}:${digest(JSON.stringify([issuer, clientId])).slice(0, 8)}`;
    this.#timeoutMs = sessionTimeoutMs;
  }

  /** Stores a new session and returns its id. Throws a `StoreFault`. */
  add(tokens: SessionTokens): string {
    const id = randomBytes(ID_BYTES).toString('base64url');
    const key = this.#key(id);
    this.#ask(() => {
      this.#dictionary.set(key, this.#entryOf(id, tokens), this.#timeoutMs);
      this.#addToIndex(tokens, key);
    });
    return id;
  }

  /** Gives a session new tokens, unless it has ended; its time begins again. Throws a `StoreFault`. */
  replace(id: string, tokens: SessionTokens): void {
    const key = this.#key(id);
    this.#ask(() => {
      if (this.#dictionary.replace(key, this.#entryOf(id, tokens), this.#timeoutMs))
        this.#addToIndex(tokens, key);
    });
  }

  #entryOf(id: string, tokens: SessionTokens): string {
    const sub = readVerified(tokens.idToken)?.claims.members['sub'];
    const marks = [this.#mark('sid', tokens.sid), this.#mark('sub', sub)];
    const entry = [...marks, sealOf(id).seal(JSON.stringify(tokens))].join(' ');
    if (entry.length > MOST_BYTES) throw new StoreFault(`a session has more than ${MOST_BYTES} bytes`);
    return entry;
  }

  /** Makes a session known under the id that it has at the provider: anybody may ask for that (`endBySid`). */
  #addToIndex({ sid }: SessionTokens, key: string): void {
    if (sid === undefined) return;
    const name = this.#nameOf('sid', sid);
    const before = String(this.#dictionary.get(name) ?? '').split('\n');
    const keys = [key, ...before.filter((one) => one !== '' && one !== key)].slice(0, MOST_OF_SID);
    this.#dictionary.set(name, keys.join('\n'), this.#timeoutMs);
  }

  /** Returns a session by the id in its cookie. Throws a `StoreFault`. */
  find(id: string): Session | undefined {
    if (!ID.test(id)) return undefined;
    const known = this.#opened.get(id);
    const key = known?.key ?? this.#key(id);
    const entry = this.#ask(() => this.#dictionary.get(key));
    if (typeof entry !== 'string') return undefined;
    if (known?.entry === entry) return this.#used(known);
    const session = openEntry(id, entry);
    if (session) this.#opened.set(id, { key, entry, session, usedMs: Date.now() });
    return session;
  }

  /** Keeps the index of a session as long as the session: a full store forgets what is not used. */
  #used(opened: Opened): Session {
    const { session, usedMs } = opened;
    const nowMs = Date.now();
    if (nowMs - usedMs < INDEX_MS) return session;
    opened.usedMs = nowMs;
    const { sid } = session.tokens;
    if (sid !== undefined) this.#ask(() => this.#dictionary.get(this.#nameOf('sid', sid)));
    return session;
  }

  end(id: string): void {
    this.#ask(() => this.#dictionary.delete(this.#key(id)));
  }

  /** Ends the sessions with an id of the provider, without looking at all others. */
  endBySid(sid: string): void {
    const name = this.#nameOf('sid', sid);
    this.#ask(() => {
      for (const key of String(this.#dictionary.get(name) ?? '').split('\n'))
        if (this.#isSession(key)) this.#dictionary.delete(key);
      this.#dictionary.delete(name);
    });
  }

  /**
   * Ends all sessions of a subject: with an id, those with this id, and those of the client that have none. It looks at all
   * sessions, so only the provider itself may ask for it.
   */
  async endAll({ sid, sub }: LogoutSubject): Promise<void> {
    const [sidMark, subMark] = [this.#mark('sid', sid), this.#mark('sub', sub)];
    const isMeant = (entry: string): boolean => {
      const [ofSid, ofSub] = entry.split(' ', 2);
      if (sid !== undefined && ofSid !== NO_MARK) return ofSid === sidMark;
      return sub !== undefined && ofSub === subMark;
    };
    for (let cursor: number | undefined = 0; cursor !== undefined;) {
      const part = this.#part(cursor);
      for (const { key, value } of part.entries) {
        if (!this.#isSession(key) || !isMeant(String(value))) continue;
        this.#ask(() => this.#dictionary.delete(key));
      }
      cursor = part.next;
      await nextTurn();
    }
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

  /** How many sessions there are; in a large store, all entries count. */
  get count(): number {
    const { capacityBytes, entries } = this.#ask(() => this.#dictionary.facts());
    if (capacityBytes > LARGE_BYTES) return entries;
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
    const secret = String(this.#ask(() => this.#dictionary.get(name)));
    // Others may write to a dictionary of the configuration: flags, for example.
    if (!ID.test(secret)) throw new StoreFault(`sessions of "${this.#realm}": their secret was replaced`);
    return secret;
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
    return typeof value === 'string' ? digest(JSON.stringify([this.#realm, kind, value])) : NO_MARK;
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
  return tokens && sessionFrom(id, tokens);
}

/** The session that has these tokens. */
export function sessionFrom(id: string, tokens: SessionTokens): Session | undefined {
  const idToken = readVerified(tokens.idToken);
  if (!idToken) return undefined;
  const userinfo = tokens.userinfo === undefined ? {} : parseJson(tokens.userinfo);
  return { id, tokens, idToken, userinfo: isObject(userinfo) ? userinfo : {} };
}
