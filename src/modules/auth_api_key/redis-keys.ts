import { LRUCache } from 'lru-cache';
import type { ErrorLog } from '../../log/index.ts';
import { type Endpoint, RedisClient, RedisLost, RedisRefused, type Reply } from '../../redis/index.ts';
import { type KeyEntry, keyEntryOf } from './key-lines.ts';

/** What a source says of a key: its entry, that it does not have it, or why it cannot tell. */
export type Found = { readonly entry: KeyEntry | undefined } | Unknown;

interface Unknown {
  readonly fault: string;
  /** The source cannot be reached. */
  readonly isAway?: true;
}

interface RedisKeysParts {
  readonly endpoints: readonly Endpoint[];
  readonly prefix: string;
  readonly cacheMs: number;
  readonly log: ErrorLog;
}

/** An entry that the store has given. */
interface KnownKey {
  readonly entry: KeyEntry;
  /** Until then the store is not asked again, and then only accepted while it is away. In `performance.now()`. */
  readonly freshUntilMs: number;
  readonly keptUntilMs: number;
}

const TIMEOUT_MS = 1_000;
const CONNECT_MS = 1_000;
const MOST_BYTES = 16_384;
/** Entries that are kept: about as many characters, and so many at most. */
const KEPT_CHARACTERS = 4 << 20;
const MOST_KEPT = 20_000;
/** How long keys are accepted while the store is away. */
const AWAY_MS = 300_000;
/** Keys that are looked up at one time, and as many again that were accepted before. Further requests get 503. */
const MOST_QUESTIONS = 1_000;
const NONE: Found = { entry: undefined };

/**
 * Keys in Redis or Valkey: a hash for each. What the store accepts counts for a time; what it does not have is asked
 * every time, once for all requests that have the same key at one time.
 */
export class RedisKeys {
  readonly #parts: RedisKeysParts;
  readonly #clients: readonly RedisClient[];
  /** By digest. */
  readonly #known = new LRUCache<string, KnownKey>({
    max: MOST_KEPT,
    maxSize: KEPT_CHARACTERS,
    sizeCalculation: ({ entry }) => sizeOf(entry),
  });
  readonly #questions = new Map<string, Promise<Found>>();

  constructor(parts: RedisKeysParts) {
    this.#parts = parts;
    const options = {
      connectTimeoutMs: CONNECT_MS,
      commandTimeoutMs: TIMEOUT_MS,
      maxReplyBytes: MOST_BYTES,
      pauseMs: (attempt: number) => Math.min(50 * (attempt - 1), 500),
    };
    this.#clients = parts.endpoints.map((endpoint) => {
      const client: RedisClient = new RedisClient(endpoint, options, {
        up: () => parts.log.write('notice', `auth_api_key: connected to ${client.label}`),
        down: (reason) =>
          parts.log.write('error', `auth_api_key: no connection to ${client.label}: ${reason}`),
      });
      return client;
    });
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  /** Looks up a key by its digest. The result is a promise if the store is asked; it never rejects. */
  find(digest: string): Found | Promise<Found> {
    const known = this.#known.get(digest);
    if (known && performance.now() < known.freshUntilMs) return known;
    const asked = this.#questions.get(digest);
    if (asked) return asked;
    // Too many questions do not mean that the store is away: a key that was revoked meanwhile would be accepted.
    if (this.#questions.size >= (known ? 2 * MOST_QUESTIONS : MOST_QUESTIONS))
      return { fault: 'the store of API keys is asked for too many at one time' };
    const question = this.#ask(digest, known).finally(() => this.#questions.delete(digest));
    this.#questions.set(digest, question);
    return question;
  }

  async #ask(digest: string, known: KnownKey | undefined): Promise<Found> {
    const found = await this.#lookUp(digest);
    if (!('fault' in found)) this.#keep(digest, found.entry);
    else if (found.isAway && known && performance.now() < known.keptUntilMs) return known;
    return found;
  }

  #keep(digest: string, entry: KeyEntry | undefined): void {
    const nowMs = performance.now();
    const freshUntilMs = nowMs + this.#parts.cacheMs;
    if (entry) this.#known.set(digest, { entry, freshUntilMs, keptUntilMs: freshUntilMs + AWAY_MS });
    else this.#known.delete(digest);
  }

  /** Asks the first server that is there. */
  async #lookUp(digest: string): Promise<Found> {
    let reason = 'the upstream of the store has no servers';
    for (const client of this.#clients) {
      try {
        await client.ready(CONNECT_MS);
        // ioredis makes an object of the reply to "hgetall" in lower case.
        return entryIn(await client.ask('HGETALL', [`${this.#parts.prefix}${digest}`]));
      } catch (error) {
        if (error instanceof RedisRefused) return refusedBy(client, error);
        if (!(error instanceof RedisLost)) throw error;
        reason = `${client.label}: ${error.message}`;
      }
    }
    return { fault: `the store of API keys cannot be asked: ${reason}`, isAway: true };
  }
}

/** Codes of a store that has just started, or has lost the server that it copies. */
const NOT_READY: ReadonlySet<string> = new Set(['LOADING', 'MASTERDOWN']);

/** Tells the first word of an error reply, its code; the rest may contain the command. */
function refusedBy({ label }: RedisClient, { message }: RedisRefused): Unknown {
  const [code = 'an error'] = /^[A-Z]+\b/.exec(message) ?? [];
  const fault = `the store of API keys refuses "hgetall": ${label}: ${code}`;
  return NOT_READY.has(code) ? { fault, isAway: true } : { fault };
}

/** Reads the names and values of the fields of a hash; one that does not exist has none. */
function entryIn(reply: Reply): Found {
  if (!Array.isArray(reply)) return { fault: 'the store of API keys gives no hash' };
  if (reply.length === 0) return NONE;
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < reply.length; at += 2) fields.set(String(reply[at]), String(reply[at + 1]));
  const entry = keyEntryOf(fields);
  return entry ? { entry } : { fault: 'the hash of an API key is malformed' };
}

function sizeOf({ id, attributes }: KeyEntry): number {
  let size = 200 + id.length;
  for (const [name, value] of attributes) size += name.length + value.length;
  return size;
}
