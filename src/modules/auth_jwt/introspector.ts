import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { fetchText, type TrustSettings, withinTime } from '../../client/index.ts';
import { readObject, type TokenObject } from '../../tokens/index.ts';
import type { Introspection } from './issuer-directives.ts';

/** What an issuer says of a token: its claims, that it does not count, or why it says nothing. */
export type Introspected = TokenObject | 'inactive' | { readonly fault: string };

interface IntrospectorParts {
  /** The issuer's name in messages. */
  readonly name: string;
  readonly introspection: Introspection;
  readonly trust: TrustSettings | undefined;
  readonly count: (result: 'active' | 'inactive' | 'failed') => void;
}

/** A response that counts for a time. */
interface KnownToken {
  readonly claims: TokenObject;
  readonly untilMs: number;
}

const MOST_TOKENS = 10_000;
/** Questions at one time, each about another token. */
const MOST_QUESTIONS = 64;
const MOST_BYTES = 65_536;
const TIMEOUT_MS = 3_000;
const INACTIVE_MS = 10_000;

/** Asks an issuer about tokens (RFC 7662), once for all requests of a worker that have the same one. */
export class Introspector {
  readonly #parts: IntrospectorParts;
  readonly #headers: Readonly<Record<string, string>>;
  /** By digest: tokens are not kept. */
  readonly #known = new LRUCache<string, KnownToken>({ max: MOST_TOKENS });
  /** Apart, so that tokens that somebody has made up push no good one out. Value: until when. */
  readonly #inactive = new LRUCache<string, number>({ max: MOST_TOKENS });
  readonly #questions = new Map<string, Promise<Introspected>>();
  readonly #closing = new AbortController();

  constructor(parts: IntrospectorParts) {
    this.#parts = parts;
    const { clientId, clientSecret = '' } = parts.introspection;
    this.#headers = {
      Accept: 'application/json',
      'Content-Type': 'application/x-www-form-urlencoded',
      ...(clientId !== undefined && { Authorization: basicCredentials(clientId, clientSecret) }),
    };
  }

  close(): void {
    this.#closing.abort();
  }

  /** What the issuer has said of a token, as long as it counts. */
  known(token: string, nowMs: number): TokenObject | 'inactive' | undefined {
    const digest = digestOf(token);
    const known = this.#known.get(digest);
    if (known && nowMs < known.untilMs) return known.claims;
    return nowMs < (this.#inactive.get(digest) ?? 0) ? 'inactive' : undefined;
  }

  /** Asks about a token. Never rejects. */
  ask(token: string): Promise<Introspected> {
    const digest = digestOf(token);
    const asked = this.#questions.get(digest);
    if (asked) return asked;
    if (this.#questions.size >= MOST_QUESTIONS)
      return Promise.resolve({ fault: `"${this.#parts.name}" is asked about too many tokens at one time` });
    const question = this.#ask(token, digest).finally(() => this.#questions.delete(digest));
    this.#questions.set(digest, question);
    return question;
  }

  async #ask(token: string, digest: string): Promise<Introspected> {
    const { name, introspection, trust, count } = this.#parts;
    const ending = this.#closing.signal;
    try {
      const body = new URLSearchParams({ token, token_type_hint: 'access_token' }).toString();
      const options = { headers: this.#headers, body, mostBytes: MOST_BYTES, trust };
      const { status, text } = await withinTime({ timeoutMs: TIMEOUT_MS, ending }, (signal) =>
        fetchText(introspection.url, { ...options, signal }),
      );
      if (status !== 200) throw new Error(`status ${status}`);
      const claims = readObject(Buffer.from(text));
      if (typeof claims?.members['active'] !== 'boolean')
        throw new Error('the response does not say "active"');
      const isActive = claims.members['active'];
      count(isActive ? 'active' : 'inactive');
      if (isActive) this.#known.set(digest, { claims, untilMs: Date.now() + introspection.cacheMs });
      else this.#inactive.set(digest, Date.now() + INACTIVE_MS);
      return isActive ? claims : 'inactive';
    } catch (error) {
      count('failed');
      return { fault: `"${name}" could not be asked about a token: ${(error as Error).message}` };
    }
  }
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** `client_secret_basic`: both parts are encoded as in forms (RFC 6749, 2.3.1). */
function basicCredentials(id: string, secret: string): string {
  const encoded = [id, secret].map((text) => new URLSearchParams({ '': text }).toString().slice(1));
  return `Basic ${Buffer.from(encoded.join(':')).toString('base64')}`;
}
