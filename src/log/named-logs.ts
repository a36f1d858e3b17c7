import { type FileHandle, open, stat } from 'node:fs/promises';
import { systemFailure } from '../system/index.ts';

/** `open_log_file_cache`: which files stay open between lines. */
export interface NamedLogRules {
  /** 0: none. */
  readonly max: number;
  /** A file that gets no line for so long is closed, and one that got fewer than `minUses` in that time. */
  readonly inactiveMs: number;
  readonly minUses: number;
  /** How long a file is taken to be the one of its name, before somebody looks. */
  readonly validMs: number;
}

/** Logs whose path is found out for each line. Nothing here throws or rejects. */
export interface NamedLogs {
  /** `path` is absolute. */
  write(path: string, line: string): void;
  /** Closes all files; those that get lines are opened again. */
  reopen(): void;
  /** Resolves when everything is written, or cannot be. */
  close(): Promise<void>;
}

/** A path that had a line lately: open where it is used often enough. */
interface NamedFile {
  handle: FileHandle | undefined;
  inode: number;
  uses: number;
  sinceMs: number;
  checkedMs: number;
}

const FILE_MODE = 0o644;
/** Characters of lines that wait for the disk; what comes beyond is dropped. */
const MAX_WAITING = 16 * 1024 * 1024;

/** Opens files one after the other as lines come: no more are open than the rules let stay, and one. */
export function openNamedLogs(rules: NamedLogRules, tell: (trouble: string) => void): NamedLogs {
  return new NamedLogFiles(rules, tell);
}

class NamedLogFiles implements NamedLogs {
  readonly #rules: NamedLogRules;
  readonly #tell: (trouble: string) => void;
  /** Lines by path, those that came first first. */
  readonly #waiting = new Map<string, string>();
  #waitingLength = 0;
  /** The file that got a line longest ago comes first. */
  readonly #files = new Map<string, NamedFile>();
  #writing: Promise<void> | undefined;
  #reopens = false;
  readonly #sweep: NodeJS.Timeout | undefined;

  constructor(rules: NamedLogRules, tell: (trouble: string) => void) {
    this.#rules = rules;
    this.#tell = tell;
    if (rules.max > 0) this.#sweep = setInterval(() => this.#soon(), rules.inactiveMs).unref();
  }

  write(path: string, line: string): void {
    if (this.#waitingLength > MAX_WAITING) return;
    this.#waitingLength += line.length + 1;
    this.#waiting.set(path, `${this.#waiting.get(path) ?? ''}${line}\n`);
    this.#soon();
  }

  reopen(): void {
    this.#reopens = true;
    this.#soon();
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep);
    while (this.#writing) await this.#writing;
    await this.#forget(() => true);
  }

  /** Lines of one turn of the event loop go to their file together. */
  #soon(): void {
    this.#writing ??= new Promise<void>((resolve) => {
      setImmediate(resolve);
    })
      .then(() => this.#drain())
      .finally(() => {
        this.#writing = undefined;
        if (this.#waiting.size > 0) this.#soon();
      });
  }

  async #drain(): Promise<void> {
    for (const [path, text] of this.#waiting) {
      this.#waiting.delete(path);
      this.#waitingLength -= text.length;
      await this.#append(path, text);
    }
    const staleMs = performance.now() - this.#rules.inactiveMs;
    const all = this.#reopens;
    this.#reopens = false;
    await this.#forget(({ sinceMs }) => all || sinceMs < staleMs);
  }

  async #append(path: string, text: string): Promise<void> {
    const file = this.#files.get(path) ?? closedFile();
    this.#files.delete(path);
    let call = 'open';
    try {
      await this.#check(path, file);
      if (!file.handle) await openAgain(path, file);
      call = 'write';
      await file.handle?.appendFile(text);
      await this.#keep(path, file);
    } catch (error) {
      this.#tell(`${systemFailure(call, path, error)} while logging request`);
      await shut(file);
    }
  }

  /** Closes a file that is no longer the one of its name. */
  async #check(path: string, file: NamedFile): Promise<void> {
    const now = performance.now();
    if (!file.handle || now - file.checkedMs <= this.#rules.validMs) return;
    file.checkedMs = now;
    const found = await stat(path).catch(() => undefined);
    if (found?.ino !== file.inode) await shut(file);
  }

  /** Puts a file at the end of the line; what is used too rarely is closed, what is too many forgotten. */
  async #keep(path: string, file: NamedFile): Promise<void> {
    const { max, inactiveMs, minUses } = this.#rules;
    const now = performance.now();
    file.uses = now - file.sinceMs > inactiveMs ? 1 : file.uses + 1;
    file.sinceMs = now;
    if (max === 0 || file.uses < minUses) await shut(file);
    if (max === 0) return;
    this.#files.set(path, file);
    const [oldest] = this.#files.keys();
    if (this.#files.size > max) await this.#forget((_, name) => name === oldest);
  }

  async #forget(isOver: (file: NamedFile, path: string) => boolean): Promise<void> {
    for (const [path, file] of this.#files) {
      if (!isOver(file, path)) continue;
      this.#files.delete(path);
      await shut(file);
    }
  }
}

function closedFile(): NamedFile {
  return { handle: undefined, inode: 0, uses: 0, sinceMs: performance.now(), checkedMs: 0 };
}

async function openAgain(path: string, file: NamedFile): Promise<void> {
  file.handle = await open(path, 'a', FILE_MODE);
  file.inode = (await file.handle.stat()).ino;
  file.checkedMs = performance.now();
}

async function shut(file: NamedFile): Promise<void> {
  const { handle } = file;
  file.handle = undefined;
  await handle?.close().catch(() => undefined);
}
