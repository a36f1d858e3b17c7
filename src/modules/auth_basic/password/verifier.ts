import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import type { CryptOrder } from './crypt-thread.ts';

/** The expensive functions, which do not run in the thread that serves requests. */
export interface PasswordLibraries {
  readonly bcrypt: (password: Uint8Array, stored: string) => Promise<boolean>;
  /** Computes SHA-crypt; `undefined`: the stored password has another scheme. */
  readonly crypt: (password: Buffer, stored: string) => Promise<string | undefined>;
}

const BCRYPT = /^\$2[aby]\$/;
const SHA1_BYTES = 20;
/** The limit of PAM: the time of SHA-crypt grows with the length of the password that is tried. */
export const MOST_PASSWORD_BYTES = 512;

/** Tells whether a check of this scheme takes so long that a success should be kept. */
function isSlow(stored: string): boolean {
  return !stored.startsWith('{');
}

/**
 * Tells whether a password is the stored one, which has one character per byte: `{PLAIN}`, `{SHA}`, `{SSHA}`, `$apr1$`,
 * `$1$`, `$5$`, `$6$`, `$2a$`, `$2b$`, `$2y$`. `undefined` for other schemes.
 */
export function verifyPassword(
  password: Buffer,
  stored: string,
  libraries: PasswordLibraries,
): boolean | undefined | Promise<boolean | undefined> {
  // htpasswd accepts no NUL byte, and implementations in C would stop there.
  if (password.includes(0)) return false;
  if (password.length > MOST_PASSWORD_BYTES) return false;
  if (BCRYPT.test(stored)) return libraries.bcrypt(password, stored);
  const judge = (computed: string | undefined): boolean | undefined =>
    computed === undefined ? undefined : isSame(computed, stored);
  return isSlow(stored) ? libraries.crypt(password, stored).then(judge) : judge(compute(password, stored));
}

/** Computes the schemes that are fast enough for this thread. */
function compute(password: Buffer, stored: string): string | undefined {
  if (stored.startsWith('{PLAIN}')) return `{PLAIN}${password.toString('latin1')}`;
  if (stored.startsWith('{SHA}')) return `{SHA}${sha1(password).toString('base64')}`;
  return stored.startsWith('{SSHA}') ? ssha(password, stored) : undefined;
}

/** Computes `{SSHA}`; its salt is stored after the digest. */
function ssha(password: Buffer, stored: string): string {
  const salt = Buffer.from(stored.slice('{SSHA}'.length), 'base64').subarray(SHA1_BYTES);
  return `{SSHA}${Buffer.concat([sha1(password, salt), salt]).toString('base64')}`;
}

function sha1(...parts: readonly Buffer[]): Buffer {
  const hash = createHash('sha1');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Compares digests of equal length in constant time. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text, 'latin1').digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** The result of a check; `unknown`: the scheme of the stored password is not supported; `busy`: too many checks wait. */
export type Outcome = 'right' | 'wrong' | 'unknown' | 'busy';

/** Maximum number of waiting checks: each of them takes up to a quarter of a second. */
const MAX_WAITING = 64;
const MAX_REMEMBERED = 1_000;

/** Checks passwords in one worker. Successes are kept, so that expensive checks are not repeated. */
export class Verifier {
  readonly #libraries: PasswordLibraries;
  /** A random key, so that the keys of `#right` reveal nothing about passwords. */
  readonly #key = randomBytes(32);
  /** Digests of valid pairs of password and stored form: after a change of the file they no longer match. */
  readonly #right = new LRUCache<string, true>({ max: MAX_REMEMBERED });
  /** Checks in progress, which equal ones wait for. */
  readonly #computing = new Map<string, Promise<Outcome>>();

  constructor(libraries: PasswordLibraries) {
    this.#libraries = libraries;
  }

  verify(password: Buffer, stored: string): Outcome | Promise<Outcome> {
    if (!isSlow(stored)) return this.#check(password, stored);
    const name = this.#nameOf(password, stored);
    if (this.#right.get(name)) return 'right';
    return this.#computing.get(name) ?? this.#compute(name, password, stored);
  }

  #compute(name: string, password: Buffer, stored: string): Outcome | Promise<Outcome> {
    if (this.#computing.size >= MAX_WAITING) return 'busy';
    const outcome = this.#check(password, stored);
    if (!(outcome instanceof Promise)) return this.#remember(name, outcome);
    const computing = outcome
      .then((settled) => this.#remember(name, settled))
      .finally(() => this.#computing.delete(name));
    this.#computing.set(name, computing);
    return computing;
  }

  #check(password: Buffer, stored: string): Outcome | Promise<Outcome> {
    const isRight = verifyPassword(password, stored, this.#libraries);
    return isRight instanceof Promise ? isRight.then(outcomeOf) : outcomeOf(isRight);
  }

  #remember(name: string, outcome: Outcome): Outcome {
    if (outcome === 'right') this.#right.set(name, true);
    return outcome;
  }

  #nameOf(password: Buffer, stored: string): string {
    return createHmac('sha256', this.#key).update(`${stored}\0`, 'latin1').update(password).digest('base64');
  }
}

function outcomeOf(isRight: boolean | undefined): Outcome {
  if (isRight === undefined) return 'unknown';
  return isRight ? 'right' : 'wrong';
}

/** Returns a function that runs `act` at most `limit` times at once; further calls wait in order. */
export function atMost<A extends readonly unknown[], T>(
  limit: number,
  act: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (...args) => {
    if (running < limit) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await act(...args);
    } finally {
      // The next waiting call takes over the slot.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}

type Computed = string | undefined;

/** Computes schemes of crypt(3) in a thread, one at a time: a wrong guess takes up to a quarter of a second. */
export class CryptWorker {
  #thread: Worker | undefined;
  #pending:
    { readonly resolve: (computed: Computed) => void; readonly reject: (error: Error) => void } | undefined;

  /** Computes one order; starts the thread at its first use, and again after it has failed. */
  compute(order: CryptOrder): Promise<Computed> {
    const thread = (this.#thread ??= this.#start());
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      thread.postMessage(order);
    });
  }

  close(): void {
    void this.#thread?.terminate();
    this.#thread = undefined;
  }

  #start(): Worker {
    const thread = new Worker(new URL('../modules/auth_basic/password/crypt-thread.cjs', import.meta.url));
    thread.on('message', (computed: Computed) => this.#pending?.resolve(computed));
    thread.on('error', (error) => this.#fail(error));
    thread.on('exit', (code) => this.#fail(new Error(`the thread for passwords ended with ${code}`)));
    thread.unref();
    return thread;
  }

  #fail(error: Error): void {
    this.#thread = undefined;
    this.#pending?.reject(error);
  }
}
