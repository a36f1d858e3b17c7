import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { helperEnvironment } from '../../system/index.ts';
import type { ChannelReports, SyslogTarget } from './target.ts';

/** Bytes that may be queued for the program; further messages are dropped. */
const MAX_WAITING_BYTES = 1_048_576;
/** A program that has ended is restarted with the next line, at the earliest after this time. If it failed before, it has sent nothing. */
const PAUSE_MS = 5_000;
/** A line of the error log. */
const MAX_MESSAGE_BYTES = 4096;
const LINE_ENDS = /[\r\n]+/g;

type Logger = ChildProcessByStdio<Writable, null, Readable>;

function argumentsOf(
  path: string,
  { tag, sendsHostname }: Pick<SyslogTarget, 'tag' | 'sendsHostname'>,
): string[] {
  const size = ['--size', String(MAX_MESSAGE_BYTES)];
  // The default format for local sockets has no host name.
  const format = sendsHostname ? ['--rfc3164'] : [];
  return ['--socket', path, '--socket-errors=on', '--prio-prefix', '--tag', tag, ...size, ...format];
}

/**
 * Sends lines to a Unix socket such as /dev/log. These are datagram sockets, which Node.js cannot open, so `logger` of
 * util-linux sends them. It reads `<priority>message` lines and adds the header.
 */
export class LoggerChannel {
  readonly #arguments: readonly string[];
  readonly #tell: (trouble: string) => void;
  readonly #dropped: () => void;
  #program: Logger | undefined;
  /** Lines that the program has taken. */
  #taken = 0;
  #startedMs = -Infinity;

  constructor(
    path: string,
    target: Pick<SyslogTarget, 'tag' | 'sendsHostname'>,
    { tell, dropped }: ChannelReports,
  ) {
    this.#arguments = argumentsOf(path, target);
    this.#tell = tell;
    this.#dropped = dropped;
  }

  send(priority: number, message: string): void {
    const input = this.#running()?.stdin;
    if (!input || input.writableLength > MAX_WAITING_BYTES) return this.#dropped();
    input.write(`<${priority}>${message.replace(LINE_ENDS, ' ')}\n`, (error) => {
      if (error) this.#dropped();
      else this.#taken++;
    });
  }

  close(): Promise<void> {
    const program = this.#program;
    this.#program = undefined;
    this.#startedMs = Infinity;
    if (!program) return Promise.resolve();
    return new Promise((resolve) => {
      program.once('close', () => resolve());
      program.stdin.end();
    });
  }

  #running(): Logger | undefined {
    if (this.#program || performance.now() - this.#startedMs < PAUSE_MS) return this.#program;
    const startedMs = (this.#startedMs = performance.now());
    this.#taken = 0;
    const program = spawn('logger', this.#arguments, {
      env: helperEnvironment(),
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    this.#program = program;
    program.stdin.on('error', () => undefined);
    createInterface(program.stderr).on('line', (trouble) => this.#tell(trouble));
    program.on('error', (error) => this.#tell(`the program "logger" cannot be started: ${error.message}`));
    program.on('close', (code) => {
      if (code !== 0) this.#lose(performance.now() - startedMs);
      if (this.#program === program) this.#program = undefined;
    });
    program.unref();
    return program;
  }

  /** Counts what a program that failed has not sent. How many lines it had sent before, it does not tell. */
  #lose(ranMs: number): void {
    const lost = ranMs > PAUSE_MS ? Math.min(this.#taken, 1) : this.#taken;
    for (let line = 0; line < lost; line++) this.#dropped();
    this.#taken = 0;
  }
}
