import { constants } from 'node:fs';
import { chmod, lstat, open, readdir, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isAlive, makeDirectory, replaceDurably, systemFailure } from '../../system/index.ts';

/** A file of another size is none of ours. */
const MOST_BYTES = 1_048_576;
const PRIVATE = 0o700;
const LEFTOVER = /\.(\d+)\.\d+\.new$/;

interface StateFilesParts {
  /** Absolute; `undefined`: nothing is kept on disk. */
  readonly root: string | undefined;
  readonly workerId: number;
  readonly failed: (message: string) => void;
  readonly recovered: (message: string) => void;
}

/**
 * The files of one `state_path`, by paths below it. Only one thread writes them. Each is replaced as a whole: written beside,
 * flushed, renamed. What cannot be written, as on a full disk, is kept in memory and written later. Links are not followed.
 */
export class StateFiles {
  readonly #parts: StateFilesParts;
  /** What could not be written; `undefined`: a file that could not be removed. */
  readonly #unsaved = new Map<string, string | undefined>();
  readonly #directories = new Set<string>();
  /** What goes on, by path: two writers of one file would be in each other's way. */
  readonly #turns = new Map<string, Promise<boolean>>();
  /** The last failure, which is told once. */
  #failure = '';

  constructor(parts: StateFilesParts) {
    this.#parts = parts;
  }

  get isKept(): boolean {
    return this.#parts.root !== undefined;
  }

  /** Returns the text of a file; `undefined` if there is none. Rejects with a message for the log. */
  async read(path: string): Promise<string | undefined> {
    if (this.#unsaved.has(path)) return this.#unsaved.get(path);
    const whole = this.#pathOf(path);
    if (whole === undefined || !(await this.#isOurs())) return undefined;
    try {
      return await readPlain(whole);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
      throw new Error(systemFailure('open', whole, error), { cause: error });
    }
  }

  /** Writes a file. Never rejects; returns false if it waits for another try. */
  async write(path: string, text: string): Promise<boolean> {
    return this.#inTurn(path, () => this.#do(path, text));
  }

  /** True if a file waits for another try. */
  isWaiting(path: string): boolean {
    return this.#unsaved.has(path);
  }

  /** Removes a file. As `write`. */
  async remove(path: string): Promise<boolean> {
    return this.#inTurn(path, () => this.#do(path, undefined));
  }

  /** Removes a directory, unless there is something in it. */
  async removeEmpty(path: string): Promise<void> {
    const whole = this.#pathOf(path);
    if (whole === undefined) return;
    this.#directories.delete(whole);
    await rmdir(whole).catch(() => undefined);
  }

  /** The names in a directory; none if it cannot be read. */
  async names(path: string): Promise<readonly string[]> {
    const whole = this.#pathOf(path);
    return whole === undefined || !(await this.#isOurs()) ? [] : readdir(whole).catch(() => []);
  }

  /** Removes what killed processes have not finished in a directory. */
  async sweep(path: string): Promise<void> {
    for (const name of await this.names(path)) {
      const [, pid] = LEFTOVER.exec(name) ?? [];
      const whole = this.#pathOf(join(path, name));
      if (pid === undefined || whole === undefined || isAlive(Number(pid))) continue;
      await rm(whole, { force: true }).catch(() => undefined);
    }
  }

  /** Tries again what could not be written. */
  async retry(): Promise<void> {
    for (const path of this.#unsaved.keys()) {
      // By its turn, it may have been written.
      const again = async (): Promise<boolean> =>
        !this.#unsaved.has(path) || this.#do(path, this.#unsaved.get(path));
      if (!(await this.#inTurn(path, again))) return;
    }
    if (this.#failure === '' || this.#unsaved.size > 0 || !(await this.#isOurs())) return;
    this.#failure = '';
    this.#parts.recovered(`the state in "${this.#parts.root}" is written again`);
  }

  /** Whoever else can write the directory could have put keys there that he knows: nothing is read or written then. */
  async #isOurs(): Promise<boolean> {
    const { root = '' } = this.#parts;
    const fault = await ownershipFault(root);
    if (fault !== undefined) this.#fail(`${fault}: nothing is read or written there`);
    return fault === undefined;
  }

  #fail(failure: string): void {
    if (this.#failure === '')
      this.#parts.failed(`${failure}; it stays in memory, and is tried again every minute`);
    this.#failure = failure;
  }

  async #inTurn(path: string, act: () => Promise<boolean>): Promise<boolean> {
    const turn = (this.#turns.get(path) ?? Promise.resolve(true)).then(act);
    this.#turns.set(path, turn);
    const isDone = await turn;
    if (this.#turns.get(path) === turn) this.#turns.delete(path);
    return isDone;
  }

  /** Never rejects. */
  async #do(path: string, text: string | undefined): Promise<boolean> {
    const whole = this.#pathOf(path);
    if (whole === undefined) return true;
    if (!(await this.#isOurs())) {
      this.#unsaved.set(path, text);
      return false;
    }
    try {
      if (text === undefined) await rm(whole, { force: true });
      else await this.#replace(whole, text);
      this.#unsaved.delete(path);
      return true;
    } catch (error) {
      this.#unsaved.set(path, text);
      this.#fail(systemFailure(text === undefined ? 'unlink' : 'write', whole, error));
      return false;
    }
  }

  async #replace(whole: string, text: string): Promise<void> {
    const directory = dirname(whole);
    if (!this.#directories.has(directory)) {
      await makeDirectory(directory, PRIVATE);
      if (!(await lstat(directory)).isDirectory()) throw new Error('it is no directory');
      this.#directories.add(directory);
    }
    try {
      await replaceDurably(whole, `${whole}.${process.pid}.${this.#parts.workerId}.new`, text);
    } catch (error) {
      this.#directories.delete(directory);
      throw error;
    }
  }

  #pathOf(path: string): string | undefined {
    const { root } = this.#parts;
    return root === undefined ? undefined : join(root, path);
  }
}

async function readPlain(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new Error('it is no regular file');
    if (found.size > MOST_BYTES) throw new Error(`it has more than ${MOST_BYTES} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

const OTHERS_WRITE = 0o002;

/** Why a directory cannot be trusted; `undefined`: it can, or does not exist. Our own is closed to others. */
async function ownershipFault(root: string): Promise<string | undefined> {
  const found = await stat(root).catch(() => undefined);
  if (!found) return undefined;
  const own = process.geteuid?.() ?? found.uid;
  if (found.uid !== own && found.uid !== 0 && own !== 0) return `"${root}" belongs to another account`;
  if ((found.mode & OTHERS_WRITE) === 0) return undefined;
  if (found.uid !== own) return `every account can write "${root}"`;
  await chmod(root, PRIVATE).catch(() => undefined);
  return undefined;
}
