import { constants } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeDirectory, openFile, renameFile, unlinkFile } from './file-calls.ts';

const ENTRY = /^[0-9a-f]{32}$/;
const PART = /^[0-9a-f]{32}-([0-9a-f]+)-\d+-\d+\.part$/;
const NEW = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW;
const CHANGE = constants.O_WRONLY | constants.O_NOFOLLOW;

/** The directory of a cache. The names of its files come from digests alone. */
export class CacheDirectory {
  readonly path: string;
  readonly #levels: readonly number[];
  readonly #owner: string;
  #parts = 0;

  /** By `owner` and `threadId`, unfinished files of this run are told from those of an earlier one. */
  constructor(
    { path, levels }: { readonly path: string; readonly levels: readonly number[] },
    { owner, threadId }: { readonly owner: string; readonly threadId: number },
  ) {
    this.path = path;
    this.#levels = levels;
    this.#owner = `${owner}-${threadId}`;
  }

  /** Returns the path of an entry, below directories named after its last digits (nginx ngx_create_hashed_filename). */
  pathOf(digest: Buffer): string {
    const name = digest.toString('hex');
    let end = name.length;
    const directories = this.#levels.map((digits) => name.slice(end - digits, (end -= digits) + digits));
    return join(this.path, ...directories, name);
  }

  open(digest: Buffer, how: 'read' | 'change' = 'read'): Promise<number> {
    return openFile(this.pathOf(digest), how === 'read' ? READ : CHANGE);
  }

  /** Creates a file that is not yet the entry's. */
  async create(digest: Buffer): Promise<{ readonly fd: number; readonly path: string }> {
    const path = join(this.path, `${digest.toString('hex')}-${this.#owner}-${++this.#parts}.part`);
    return { fd: await this.#inDirectory(path, () => openFile(path, NEW, 0o600)), path };
  }

  /** Gives a complete file the name of the entry, in place of any former file. */
  publish(part: string, digest: Buffer): Promise<void> {
    const path = this.pathOf(digest);
    return this.#inDirectory(path, () => renameFile(part, path));
  }

  /** Removes the file of an entry. False: it was gone already. */
  remove(digest: Buffer): Promise<boolean> {
    return this.removePart(this.pathOf(digest));
  }

  removePart(path: string): Promise<boolean> {
    return unlinkFile(path).then(() => true, unlessAbsent);
  }

  /** Returns the digest of a file by its name; `undefined` if it is not the file of an entry. */
  static digestOfName(name: string): Buffer | undefined {
    return ENTRY.test(name) ? Buffer.from(name, 'hex') : undefined;
  }

  /** Returns whether an earlier run has left this file unfinished. */
  isLeft(name: string): boolean {
    const owner = PART.exec(name)?.[1];
    return owner !== undefined && !this.#owner.startsWith(`${owner}-`);
  }

  /** Creates the directories only if the call shows that they are missing. */
  async #inDirectory<T>(path: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    // If this fails, the next call reports a better error.
    await makeDirectory(dirname(path), { recursive: true, mode: 0o700 }).catch(() => undefined);
    return call();
  }
}

function unlessAbsent(error: NodeJS.ErrnoException): false {
  if (error.code !== 'ENOENT') throw error;
  return false;
}
