import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from '../../../pool/index.ts';
import { isSlow, verifyPassword } from './verify.ts';
import type { PasswordLibraries } from './verify.ts';

/** What a check comes to; `unknown`: the file stores something that is no password; `busy`: too many checks wait. */
export type Outcome = 'right' | 'wrong' | 'unknown' | 'busy';

/** Checks that wait for the thread pool: each of them takes a quarter of a second of it. */
const MAX_WAITING = 64;
const MAX_REMEMBERED = 1_000;

/** Checks passwords in one worker, and remembers for which forms a password was right, so that it is not computed again. */
export class Verifier {
  readonly #libraries: PasswordLibraries;
  /** Without it the names say nothing of the passwords. */
  readonly #key = randomBytes(32);
  /** Names of right pairs of password and stored form: a file that changes makes other names. */
  readonly #right = new LRUCache<string, true>({ max: MAX_REMEMBERED });
  /** What is being computed, for those who ask the same meanwhile. */
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
