import { closeSync, fstatSync, writeSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { SonicBoom } from 'sonic-boom';
import type { Level } from './error-line.ts';
import type { ErrorLog } from './error-log.ts';
import { systemFailure } from '../system/index.ts';
import {
  identityOf,
  LogOpener,
  makePrompt,
  mayWait,
  openFailure,
  openPrompt,
  standardStream,
} from './log-file.ts';
import { linesIn, PendingLines } from './pending-lines.ts';

/** An open access log. Its methods never throw, so that a file error does not fail a request. */
interface AccessLog {
  /** Writes one line, given without its line end. */
  write(line: string): void;
  /** Switches to the file that now has the name, if it is another one. Buffered lines are written to the old file. */
  readonly reopen: () => void;
  /** Resolves when everything is written or cannot be written. */
  close(): Promise<void>;
}

/** The file and its buffer. `bufferBytes` 0: no buffer; `flushMs` 0: only a full buffer is written. */
interface AccessLogOptions {
  /** Absolute, or `stderr`. */
  readonly path: string;
  readonly bufferBytes: number;
  readonly flushMs: number;
  /** 1 … 9: each buffer is compressed; the file is a series of gzip members. */
  readonly gzipLevel?: number | undefined;
  readonly opener?: LogOpener;
  /** Called with the number of lines that are lost: the file is not open, too many wait for it, or some do at the end. */
  readonly dropped?: ((lines: number) => void) | undefined;
  /** Receives an alert when writing begins to fail, and each time the file cannot be reopened. */
  readonly log: ErrorLog;
}

/** Maximum bytes that wait for the disk; further lines are dropped. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** A file that takes nothing for so long at the end is given up. */
const LAST_MS = 3_000;
const MAX_WRITE_BYTES = 64 * 1024;
/** POSIX: writes of up to PIPE_BUF bytes to a pipe are atomic; larger ones may mix with other writers' lines. */
const PIPE_BUF_BYTES = 4096;
const MAX_BYTES_PER_UNIT = 3;

/**
 * Opens a log for appending. Without a buffer, the first line of a turn of the event loop is written before the client
 * sees the end of its response; the other lines of the turn, or of a whole buffer, are written together. Every write
 * consists of whole lines, so that several threads can share a file or pipe.
 */
export function openAccessLog(options: AccessLogOptions): AccessLog {
  return new AppendedLog(options);
}

class AppendedLog implements AccessLog {
  readonly #options: AccessLogOptions;
  #file: OpenFile | undefined;
  #waiting = '';
  #flushSoon: NodeJS.Immediate | undefined;
  #flushLater: NodeJS.Timeout | undefined;
  /** Earlier lines are still being written and must come first. */
  #isWriting = false;
  #trouble = '';
  #isClosed = false;

  constructor(options: AccessLogOptions) {
    this.#options = options;
    this.#file = this.#open('alert');
  }

  write(line: string): void {
    if (!this.#file) return this.#isClosed ? undefined : this.#options.dropped?.(1);
    const { promptFd } = this.#file;
    if (promptFd !== undefined && !this.#flushSoon && !this.#isWriting) {
      const rest = restOf(`${line}\n`, promptFd);
      this.#isWriting = rest !== '';
      if (rest !== '') give(this.#file, rest, rest);
      this.#flushSoon = setImmediate(() => this.#flush());
      return;
    }
    if (this.#waiting.length + line.length >= this.#file.chunkLength) this.#flush();
    this.#waiting += `${line}\n`;
    const { bufferBytes, flushMs } = this.#options;
    if (this.#waiting.length >= bufferBytes) this.#flushSoon ??= setImmediate(() => this.#flush());
    else if (flushMs > 0) this.#flushLater ??= setTimeout(() => this.#flush(), flushMs).unref();
  }

  readonly reopen = (): void => {
    if (this.#isClosed || standardStream(this.#options.path) !== undefined) return;
    this.#trouble = '';
    const next = this.#open('emerg');
    if (!next) return;
    if (next.identity === this.#file?.identity) return next.boom.end();
    this.#flush();
    if (this.#file) void this.#finish(this.#file);
    this.#file = next;
  };

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#flush();
    const file = this.#file;
    this.#file = undefined;
    if (file) await this.#finish(file);
  }

  /** Writes what waits for a file, and closes it. Lines that it does not take are lost. */
  async #finish({ boom, pending }: OpenFile): Promise<void> {
    await new Promise<void>((resolve) => {
      const giveUp = (): void => {
        boom.destroy();
        resolve();
      };
      const timer = setTimeout(giveUp, LAST_MS);
      boom.on('write', () => timer.refresh()).once('error', giveUp);
      boom.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      boom.end();
    });
    const lost = pending.count;
    if (lost === 0) return;
    const { dropped, log, path } = this.#options;
    dropped?.(lost);
    log.write('error', `${lost} lines of "${path}" are lost: they could not be written before the end`);
  }

  #flush(): void {
    clearImmediate(this.#flushSoon);
    clearTimeout(this.#flushLater);
    this.#flushSoon = this.#flushLater = undefined;
    if (this.#waiting === '') return;
    this.#isWriting = true;
    if (this.#file?.waits) makePrompt(this.#file.fd);
    const text = this.#waiting;
    this.#waiting = '';
    const { gzipLevel } = this.#options;
    if (!this.#file) return;
    if (gzipLevel === undefined) give(this.#file, text, text);
    else give(this.#file, gzipSync(text, { level: gzipLevel }), linesIn(text));
  }

  #open(severity: Level): OpenFile | undefined {
    try {
      const file = openFile(this.#options);
      file.boom.on('error', (error: Error) => this.#tell(systemFailure('write', this.#options.path, error)));
      file.boom.on('drop', () => this.#options.dropped?.(file.pending.takeBack()));
      file.boom.on('write', (bytes: number) => {
        file.pending.written(bytes);
        this.#trouble = '';
      });
      file.boom.on('drain', () => (this.#isWriting &&= this.#file !== file));
      return file;
    } catch (error) {
      this.#tell(openFailure(this.#options.path, error), severity);
      return undefined;
    }
  }

  #tell(trouble: string, severity: Level = 'alert'): void {
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    this.#options.log.write(severity, trouble);
  }
}

/** Has a piece written. `lines`: its text before it was compressed, or their number. */
function give({ boom, pending }: OpenFile, piece: string | Buffer, lines: string | number): void {
  pending.add(piece, lines);
  boom.write(piece);
}

/** Writes a line; returns the part that the file does not take at once. */
function restOf(text: string, fd: number): string {
  const bytes = Buffer.from(text);
  let written = 0;
  try {
    written = writeSync(fd, bytes);
  } catch {
    // The second attempt reports the error.
  }
  return bytes.toString('utf8', written);
}

/** sonic-boom also accepts bytes if it was opened for them, which its types omit. */
type Boom = Omit<SonicBoom, 'write'> & { write(piece: string | Buffer): boolean };

interface OpenFile {
  readonly boom: Boom;
  readonly pending: PendingLines;
  readonly identity: string;
  /** Largest write, in UTF-16 units. */
  readonly chunkLength: number;
  readonly fd: number;
  /** Writes wait for the reader unless `makePrompt` is called before. */
  readonly waits: boolean;
  /** The descriptor if lines are written at once, to a regular file without a buffer. */
  readonly promptFd: number | undefined;
}

/** Opens the file immediately, so that a missing permission is found at load time and not during a request. */
function openFile({ path, bufferBytes, gzipLevel, opener = new LogOpener() }: AccessLogOptions): OpenFile {
  const standard = standardStream(path);
  const fd = standard === undefined ? opener.open(path) : openPrompt(standard);
  try {
    const stat = fstatSync(fd);
    const isPipe = stat.isFIFO() || stat.isSocket();
    const maxWrite = isPipe ? PIPE_BUF_BYTES : Math.max(MAX_WRITE_BYTES, bufferBytes);
    const chunkLength = isPipe ? Math.floor(maxWrite / MAX_BYTES_PER_UNIT) : maxWrite;
    const contentMode = gzipLevel === undefined ? 'utf8' : 'buffer';
    const boom = new SonicBoom({ fd, sync: false, maxWrite, maxLength: MAX_WAITING_BYTES, contentMode });
    return {
      boom,
      pending: new PendingLines(),
      identity: identityOf(fd),
      fd,
      waits: fd === standard && mayWait(fd),
      chunkLength,
      promptFd: stat.isFile() && bufferBytes === 0 ? fd : undefined,
    };
  } catch (error) {
    if (fd !== standard) closeSync(fd);
    throw error;
  }
}
