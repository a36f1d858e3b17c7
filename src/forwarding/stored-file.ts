import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { ComplexValue } from '../config/index.ts';
import { type Exchange, parseHttpDate } from '../http/index.ts';
import type { BodyTaker } from '../bodies/index.ts';
import { makeDirectory, systemFailure } from '../system/index.ts';
import type { AcceptedResponse } from '../cache/index.ts';
import type { ForwardingBuild } from './forwarding-build.ts';

/** Returns the receiver that passes the body of a response to the client. */
type Pass = (x: Exchange, accepted: AcceptedResponse) => BodyTaker;

/** `…_store` and `…_store_access`. */
export interface StoredFileConfig {
  /** `on`: the file to which the URI maps. */
  readonly store: 'off' | 'on' | ComplexValue;
  /** The mode of the files. */
  readonly storeAccess: number;
}

const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Bytes that may wait for the disk. A response that exceeds this is not stored. */
const MOST_WAITING_BYTES = 8_388_608;

/**
 * Compiles `…_store`: the body of a 200 to a GET is written to a temporary file, which is renamed when the body is
 * complete (nginx: ngx_http_upstream_store). The client never waits for the disk.
 */
export function compileStoredFile(
  pass: Pass,
  { store, storeAccess }: StoredFileConfig,
  build: ForwardingBuild,
): Pass {
  if (store === 'off') return pass;
  const pathOf = store === 'on' ? build.variable('request_filename') : build.value(store);
  return (x, accepted) => {
    const { head } = accepted;
    const taker = pass(x, accepted);
    const isWhole = head.status === 200 && x.request.method === 'GET' && accepted.isBuffered;
    const path = isWhole ? (pathOf(x) ?? '') : '';
    if (path === '') return taker;
    if (UNSAFE.test(path)) {
      x.writeLog(`"${path}" is not stored: no file can have this name`);
      return taker;
    }
    const modifiedSeconds = parseHttpDate(headerOf(head.headers, 'last-modified'));
    const file = new StoredFile(
      resolve(build.prefix, path),
      { modifiedSeconds, mode: storeAccess },
      (fault) => x.writeLog(fault),
    );
    x.onAbort(() => file.discard());
    return new StoringTaker(taker, file);
  };
}

/** Matches a segment that leads to a parent directory, a NUL, and a directory. */
// eslint-disable-next-line no-control-regex -- control bytes are what it looks for
const UNSAFE = /(?:^|\/)\.\.(?:\/|$)|\0|\/$/;

function headerOf(headers: readonly string[], name: string): string {
  const at = headers.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name);
  return at < 0 ? '' : (headers[at + 1] ?? '');
}

/** Stores a body on its way to the client. */
class StoringTaker implements BodyTaker {
  readonly #taker: BodyTaker;
  readonly #file: StoredFile;

  constructor(taker: BodyTaker, file: StoredFile) {
    this.#taker = taker;
    this.#file = file;
  }

  piece(bytes: Buffer): void {
    this.#file.add(bytes);
    this.#taker.piece(bytes);
  }

  follow(): void {
    this.#taker.follow();
  }

  end(): void {
    this.#file.finish();
    this.#taker.end();
  }

  cut(): void {
    this.#file.discard();
    this.#taker.cut();
  }

  drop(): void {
    this.#file.discard();
    this.#taker.drop();
  }
}

interface FileFacts {
  readonly modifiedSeconds: number | undefined;
  readonly mode: number;
}

/** A file that is renamed when it is complete. Its writes run one after the other. */
class StoredFile {
  readonly #path: string;
  readonly #temporary: string;
  readonly #facts: FileFacts;
  readonly #failed: (fault: string) => void;
  #file: FileHandle | undefined;
  #waitingBytes = 0;
  #isOver = false;
  #isLost = false;
  #work: Promise<void>;

  constructor(path: string, facts: FileFacts, failed: (fault: string) => void) {
    this.#path = path;
    this.#temporary = join(dirname(path), `.gw-${randomBytes(8).toString('hex')}`);
    this.#facts = facts;
    this.#failed = failed;
    this.#work = this.#attempt(() => this.#open());
  }

  /** Adds bytes, which must not change afterwards. */
  add(bytes: Buffer): void {
    if (this.#isLost || this.#isOver) return;
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > MOST_WAITING_BYTES) {
      this.#failed(`"${this.#path}" is not stored: the disk is too slow`);
      return this.discard();
    }
    this.#then(async () => {
      await this.#file?.write(bytes);
      this.#waitingBytes -= bytes.length;
    });
  }

  finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#then(() => this.#takePlace());
  }

  /** Removes the temporary file. */
  discard(): void {
    if (this.#isOver) return;
    this.#isOver = this.#isLost = true;
    this.#work = this.#work.then(() => this.#remove());
  }

  #then(act: () => Promise<void>): void {
    this.#work = this.#work.then(() => (this.#isLost ? undefined : this.#attempt(act)));
  }

  async #attempt(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (this.#isLost) return;
      this.#isLost = true;
      this.#failed(systemFailure('store', this.#path, error));
      await this.#remove();
    }
  }

  async #open(): Promise<void> {
    // Accounts that may read the files may enter their directories.
    const { mode } = this.#facts;
    await makeDirectory(dirname(this.#path), mode | ((mode & 0o444) >> 2) | 0o300);
    this.#file = await open(this.#temporary, FLAGS, 0o600);
  }

  async #takePlace(): Promise<void> {
    const { modifiedSeconds, mode } = this.#facts;
    if (modifiedSeconds !== undefined) await this.#file?.utimes(modifiedSeconds, modifiedSeconds);
    await this.#file?.close();
    await chmod(this.#temporary, mode);
    await rename(this.#temporary, this.#path);
  }

  async #remove(): Promise<void> {
    await this.#file?.close().catch(() => undefined);
    await rm(this.#temporary, { force: true }).catch(() => undefined);
  }
}
