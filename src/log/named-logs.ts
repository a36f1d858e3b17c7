import { closeSync, constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { appendAsRoot, systemFailure, systemReason } from '../system/index.ts';
import { linesIn } from './pending-lines.ts';

/** `open_log_file_cache`: the rules for keeping files open. */
export interface NamedLogRules {
  /** Maximum number of files that are kept open. */
  readonly max: number;
  /** A file with no line, or fewer than `minUses` lines, in this time is closed. */
  readonly inactiveMs: number;
  readonly minUses: number;
  /** The interval at which it is checked whether a name still refers to the open file. */
  readonly validMs: number;
}

/** A line and its file. */
interface NamedLine {
  /** Absolute. */
  readonly path: string;
  readonly line: string;
  /** If this directory is missing, nothing is written: clients could create files for hosts that are not served. */
  readonly root: string;
  /** Receives the reason why the line is not written. */
  readonly tell: (trouble: string) => void;
  /** Called with the number of lines that are lost. */
  readonly dropped?: ((lines: number) => void) | undefined;
}

/** Logs whose path is computed for each line. The methods never throw or reject. */
export interface NamedLogs {
  write(line: NamedLine): void;
  /** Closes all files; they are opened again when needed. */
  readonly reopen: () => void;
  /** Resolves when everything is written or cannot be written. */
  close(): Promise<void>;
}

/** A recently used path; its file is open if it is used often enough. */
interface NamedFile {
  handle: FileHandle | undefined;
  inode: number;
  uses: number;
  sinceMs: number;
  checkedMs: number;
}

const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;
const FLAGS = O_WRONLY | O_APPEND | O_NONBLOCK;
const FILE_MODE = 0o644;
/** Limit of buffered characters; further lines are dropped. */
const MAX_WAITING = 16 * 1024 * 1024;

/**
 * Opens logs whose files are opened when they get lines. At most one file more is open than the rules allow.
 */
export function openNamedLogs(rules: NamedLogRules, tell: (trouble: string) => void): NamedLogs {
  return new NamedLogFiles(rules, tell);
}

class NamedLogFiles implements NamedLogs {
  readonly #rules: NamedLogRules;
  readonly #tell: (trouble: string) => void;
  /** Buffered lines by path and root, the oldest first; `line` has several. */
  readonly #waiting = new Map<string, NamedLine>();
  #waitingLength = 0;
  /** The least recently used file comes first. */
  readonly #files = new Map<string, NamedFile>();
  #writing: Promise<void> | undefined;
  #reopens = false;
  readonly #sweep: NodeJS.Timeout | undefined;

  constructor(rules: NamedLogRules, tell: (trouble: string) => void) {
    this.#rules = rules;
    this.#tell = tell;
    if (rules.max > 0) this.#sweep = setInterval(() => this.#soon(), rules.inactiveMs).unref();
  }

  write({ path, line, root, tell, dropped }: NamedLine): void {
    if (this.#waitingLength > MAX_WAITING) return dropped?.(1);
    this.#waitingLength += line.length + 1;
    const key = `${path}\0${root}`;
    this.#waiting.set(key, {
      path,
      root,
      tell,
      dropped,
      line: `${this.#waiting.get(key)?.line ?? ''}${line}\n`,
    });
    this.#soon();
  }

  readonly reopen = (): void => {
    this.#reopens = true;
    this.#soon();
  };

  async close(): Promise<void> {
    clearInterval(this.#sweep);
    while (this.#writing) await this.#writing;
    await this.#forget(() => true);
  }

  /** Schedules a write. The lines of one turn of the event loop are written together. */
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
    for (const [key, lines] of this.#waiting) {
      this.#waiting.delete(key);
      this.#waitingLength -= lines.line.length;
      const trouble = await absenceOf(lines.root);
      if (trouble === undefined) await this.#append(lines);
      else lines.tell(`testing "${lines.root}" existence failed (${trouble}) while logging request`);
    }
    const staleMs = performance.now() - this.#rules.inactiveMs;
    const all = this.#reopens;
    this.#reopens = false;
    await this.#forget(({ sinceMs }) => all || sinceMs < staleMs);
  }

  async #append({ path, line: text, dropped }: NamedLine): Promise<void> {
    const file = this.#files.get(path) ?? closedFile();
    this.#files.delete(path);
    const bytes = Buffer.from(text);
    let written = 0;
    let call = 'open';
    try {
      await this.#check(path, file);
      if (!file.handle) await openAgain(path, file);
      call = 'write';
      while (file.handle && written < bytes.length)
        written += (await file.handle.write(bytes, written)).bytesWritten;
      await this.#keep(path, file);
    } catch (error) {
      dropped?.(linesIn(bytes.toString('utf8', written)));
      this.#tell(`${systemFailure(call, path, error)} while logging request`);
      await shut(file);
    }
  }

  /** Closes a file if its name now refers to another one. */
  async #check(path: string, file: NamedFile): Promise<void> {
    const now = performance.now();
    if (!file.handle || now - file.checkedMs <= this.#rules.validMs) return;
    file.checkedMs = now;
    const found = await stat(path).catch(() => undefined);
    if (found?.ino !== file.inode) await shut(file);
  }

  /**
   * Makes a file the most recently used one. Closes it if it is used too rarely, and closes the oldest file if there
   * are too many.
   */
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

/** nginx tests the root before it opens a log with variables in its path (ngx_http_log_script_write). */
async function absenceOf(root: string): Promise<string | undefined> {
  try {
    return (await stat(root)).isDirectory() ? undefined : '20: Not a directory';
  } catch (error) {
    return systemReason(error);
  }
}

function closedFile(): NamedFile {
  return { handle: undefined, inode: 0, uses: 0, sinceMs: performance.now(), checkedMs: 0 };
}

async function openAgain(path: string, file: NamedFile): Promise<void> {
  file.handle = await openNamed(path);
  file.inode = (await file.handle.stat()).ino;
  file.checkedMs = performance.now();
}

/** Opens a file without waiting for the reader of a pipe, which would keep a thread of libuv busy. */
async function openNamed(path: string): Promise<FileHandle> {
  if (process.getuid?.() !== 0) return open(path, FLAGS | O_CREAT, FILE_MODE);
  const fd = appendAsRoot(path);
  try {
    return await open(`/proc/self/fd/${fd}`, FLAGS);
  } finally {
    closeSync(fd);
  }
}

async function shut(file: NamedFile): Promise<void> {
  const { handle } = file;
  file.handle = undefined;
  await handle?.close().catch(() => undefined);
}
