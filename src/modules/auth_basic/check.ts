import { resolve } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import type { ComplexValue } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import { logContext } from '../../http/index.ts';
import type { AccessCheck, Denial, Exchange, Verdict } from '../../http/index.ts';
import type { Level } from '../../log/index.ts';
import type { AuthBasicConfig } from './config.ts';
import { readCredentials } from './credentials.ts';
import type { Outcome, Verifier } from './password/verifier.ts';
import type { UserFiles } from './user-file.ts';

/** What the checks of a worker share. */
export interface CheckParts {
  readonly verifier: Verifier;
  readonly files: UserFiles;
}

const BUSY: Denial = { status: 503, headers: ['Retry-After', '1'] };

/** Lets in who gives a name and its password (nginx ngx_http_auth_basic_handler), and tells the log of everybody else. */
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

/** One request's. */
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
    if (!(outcome instanceof Promise)) return this.#judge(user, outcome);
    return outcome.then((settled) => this.#judge(user, settled));
  }

  #judge(user: string, outcome: Outcome): Verdict {
    if (outcome === 'right') return 'allowed';
    if (outcome === 'wrong') return this.#unauthorized('error', `user "${shown(user)}": password mismatch`);
    if (outcome === 'unknown')
      return this.#unauthorized('error', `user "${shown(user)}": the form of the stored password is unknown`);
    this.#log('error', 'too many passwords are being checked');
    return BUSY;
  }

  #unauthorized(level: Level, message: string): Denial {
    this.#log(level, message);
    return { status: 401, headers: ['WWW-Authenticate', `Basic realm="${this.#realm}"`] };
  }

  #unreadable(file: string, error: unknown): Denial {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    this.#log(isMissing ? 'error' : 'crit', `open() "${file}" failed (${reasonOf(error)})`);
    return { status: isMissing ? 403 : 500 };
  }
}

/** A name as text: it came with one byte per character. */
function shown(user: string): string {
  return Buffer.from(user, 'latin1').toString();
}

/** `2: No such file or directory`. */
function reasonOf(error: unknown): string {
  const { errno = 0, message } = error as NodeJS.ErrnoException;
  const [, text = message] = getSystemErrorMap().get(errno) ?? [];
  return `${Math.abs(errno)}: ${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
