import { readFileSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { LRUCache } from '../../pool/index.ts';

/** Users with what is stored of their passwords, both with one byte per character. */
type Users = ReadonlyMap<string, string>;

interface Known {
  readonly identity: string;
  readonly users: Users;
}

/** File names may have variables: so many files are remembered. */
const MAX_FILES = 100;

/** The user files of one worker. A file is read again as soon as it has changed, as if each request read it (nginx). */
export class UserFiles {
  readonly #known = new LRUCache<string, Known>({ max: MAX_FILES });

  /** What the file stores for a user; `undefined`: nothing. Throws when the file cannot be read. */
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

/** Changes whenever the file does. */
function identityOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

/** `name:password`, up to another colon; of two lines with one name the first counts. `#` begins a comment. */
export function parseUsers(text: string): Users {
  const users = new Map<string, string>();
  for (const line of text.split(/[\r\n]+/)) {
    const [user = '', stored] = line.split(':', 2);
    if (stored !== undefined && user !== '' && !user.startsWith('#') && !users.has(user))
      users.set(user, stored);
  }
  return users;
}
