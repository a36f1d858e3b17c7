import { readFileSync, type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { LRUCache } from 'lru-cache';
import { type ComplexValue, constantText } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import { type AccessCheck, type Denial, type Exchange, logContext, type Verdict } from '../../http/index.ts';
import type { Level } from '../../log/index.ts';
import { systemFailure } from '../../system/index.ts';
import type { Outcome, Verifier } from './password/verifier.ts';

/** The configuration of one location. */
export interface AuthBasicConfig {
  readonly realm?: ComplexValue;
  readonly userFile?: {
    readonly path: ComplexValue;
    /** The directory that relative paths start at. */
    readonly directory: string;
  };
}

/** Tells whether the directive is `auth_basic off;`. */
export function isOff(realm: ComplexValue): boolean {
  return constantText(realm) === 'off';
}

/** The credentials in `Authorization: Basic …`. */
interface Credentials {
  /** One character per byte. */
  readonly user: string;
  readonly password: Buffer;
}

const BASE64 = /^[A-Za-z0-9+/]*$/;
const COLON = 0x3a;

/**
 * Reads name and password from a header value; `undefined` if it has none (nginx ngx_http_auth_basic_user). The name is
 * never empty.
 */
function readCredentials(authorization: string | undefined): Credentials | undefined {
  const [, encoded] = /^basic +(.*)$/is.exec(authorization ?? '') ?? [];
  // Everything after the padding is ignored.
  const digits = encoded?.split('=', 1)[0] ?? '';
  if (digits === '' || digits.length % 4 === 1 || !BASE64.test(digits)) return undefined;
  const text = Buffer.from(digits, 'base64');
  const colon = text.indexOf(COLON);
  if (colon <= 0) return undefined;
  return { user: text.toString('latin1', 0, colon), password: text.subarray(colon + 1) };
}

/** Users and their stored passwords, both with one character per byte. */
type Users = ReadonlyMap<string, string>;

interface CachedUsers {
  readonly identity: string;
  readonly users: Users;
}

/** Number of files that are kept: file names may contain variables. */
const MAX_FILES = 100;

/** The user files of one worker. A file is read again as soon as it has changed, so changes apply to the next request (nginx). */
export class UserFiles {
  readonly #known = new LRUCache<string, CachedUsers>({ max: MAX_FILES });

  /** Returns the stored password of a user; `undefined` if the user is unknown. Throws if the file cannot be read. */
  stored(path: string, user: string): string | undefined {
    const identity = identityOf(statSync(path));
    let known = this.#known.get(path);
    if (known?.identity !== identity) {
      known = { identity, users: parseUsers(readFileSync(path, 'latin1')) };
      this.#known.set(path, known);
    }
    return known.users.get(user);
  }
}

/** Returns a text that changes whenever the file does. */
function identityOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

/**
 * Parses lines of `name:password`, up to another colon; the first of several lines with one name is used. `#` begins a
 * comment.
 */
function parseUsers(text: string): Users {
  const users = new Map<string, string>();
  for (const line of text.split(/[\r\n]+/)) {
    const [user = '', stored] = line.split(':', 2);
    if (stored !== undefined && user !== '' && !user.startsWith('#') && !users.has(user))
      users.set(user, stored);
  }
  return users;
}

/** The resources that the checks of a worker share. */
interface CheckParts {
  readonly verifier: Verifier;
  readonly files: UserFiles;
}

const BUSY: Denial = { status: 503, headers: ['Retry-After', '1'] };

/** Compiles the check of name and password, which logs refused requests (nginx ngx_http_auth_basic_handler). */
export function compileCheck(
  { realm, userFile }: AuthBasicConfig,
  parts: CheckParts,
  build: Build,
): AccessCheck {
  build.needHeader('authorization');
  const realmOf = build.value(realm as ComplexValue);
  const { path, directory } = userFile as NonNullable<typeof userFile>;
  const pathOf = build.value(path);
  const log = (x: Exchange, level: Level, message: string): void =>
    build.log.write(level, message, logContext(x));
  return (x) => {
    const name = realmOf(x);
    if (name === 'off') return undefined;
    const check = new Check(name, parts, (level, message) => log(x, level, message));
    return check.verdict(x.header('authorization'), () => resolve(directory, pathOf(x)));
  };
}

/** The check of one request. */
class Check {
  readonly #realm: string;
  readonly #parts: CheckParts;
  readonly #log: (level: Level, message: string) => void;

  constructor(realm: string, parts: CheckParts, log: (level: Level, message: string) => void) {
    this.#realm = realm;
    this.#parts = parts;
    this.#log = log;
  }

  verdict(authorization: string | undefined, fileName: () => string): Verdict | Promise<Verdict> {
    const credentials = readCredentials(authorization);
    if (!credentials) {
      return this.#unauthorized('info', 'no user/password was provided for basic authentication');
    }
    const { user, password } = credentials;
    const file = fileName();
    let stored: string | undefined;
    try {
      stored = this.#parts.files.stored(file, user);
    } catch (error) {
      return this.#unreadable(file, error);
    }
    if (stored === undefined) {
      return this.#unauthorized('error', `user "${shown(user)}" was not found in "${file}"`);
    }
    const outcome = this.#parts.verifier.verify(password, stored);
    if (!(outcome instanceof Promise)) return this.#judge(outcome, user, stored);
    return outcome.then((settled) => this.#judge(settled, user, stored));
  }

  #judge(outcome: Outcome, user: string, stored: string): Verdict {
    if (outcome === 'right') return 'allowed';
    if (outcome === 'wrong') return this.#unauthorized('error', `user "${shown(user)}": password mismatch`);
    if (outcome === 'unknown')
      return this.#unauthorized('error', `user "${shown(user)}": ${unknownForm(stored)}`);
    this.#log('error', 'too many passwords are being checked');
    return BUSY;
  }

  #unauthorized(level: Level, message: string): Denial {
    this.#log(level, message);
    return { status: 401, headers: ['WWW-Authenticate', `Basic realm="${this.#realm}"`] };
  }

  #unreadable(file: string, error: unknown): Denial {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    this.#log(isMissing ? 'error' : 'crit', systemFailure('open', file, error));
    return { status: isMissing ? 403 : 500 };
  }
}

const DES_CRYPT = /^[./0-9A-Za-z]{13}$/;

/** Returns the message for a stored password whose scheme is not supported. */
function unknownForm(stored: string): string {
  return DES_CRYPT.test(stored)
    ? 'the stored password is one of DES crypt, which is not taken: store it anew, with "gw hash-password"'
    : 'the form of the stored password is unknown';
}

/** Decodes a name for messages: it has one character per byte. */
function shown(user: string): string {
  return Buffer.from(user, 'latin1').toString();
}
