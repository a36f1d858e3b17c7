import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { SyslogTarget } from './syslog-target.ts';
import type { SyslogChannel } from './syslog-channel.ts';

/** Bytes that may wait for the program; what comes beyond is dropped. */
const MAX_WAITING_BYTES = 1_048_576;
/** A program that ended is started again at the next line, but no sooner than this. */
const PAUSE_MS = 5_000;
const MAX_MESSAGE_BYTES = 2048;
const LINE_ENDS = /[\r\n]+/g;

type Logger = ChildProcessByStdio<Writable, null, Readable>;

/**
 * Lines to a Unix socket such as /dev/log. Those are datagram sockets, which Node.js cannot open: `logger` of util-linux
 * sends them. It takes `<priority>message` per line and writes the head itself.
 */
export function openLoggerChannel(
  path: string,
  target: Pick<SyslogTarget, 'tag' | 'hostname'>,
  tell: (trouble: string) => void,
): SyslogChannel {
  return new LoggerChannel(argumentsOf(path, target), tell);
}

function argumentsOf(path: string, { tag, hostname }: Pick<SyslogTarget, 'tag' | 'hostname'>): string[] {
  const size = ['--size', String(MAX_MESSAGE_BYTES)];
  // Its own format for sockets of the machine has no host name.
  const format = hostname ? ['--rfc3164'] : [];
  return ['--socket', path, '--socket-errors=on', '--prio-prefix', '--tag', tag, ...size, ...format];
}

class LoggerChannel implements SyslogChannel {
  readonly #arguments: readonly string[];
  readonly #tell: (trouble: string) => void;
  #program: Logger | undefined;
  #startedMs = -Infinity;

  constructor(words: readonly string[], tell: (trouble: string) => void) {
    this.#arguments = words;
    this.#tell = tell;
  }

  send(priority: number, message: string): void {
    const input = this.#running()?.stdin;
    if (!input || input.writableLength > MAX_WAITING_BYTES) return;
    input.write(`<${priority}>${message.replace(LINE_ENDS, ' ')}\n`);
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
    this.#startedMs = performance.now();
    const program = spawn('logger', this.#arguments, { stdio: ['pipe', 'ignore', 'pipe'] });
    this.#program = program;
    program.stdin.on('error', () => undefined);
    createInterface(program.stderr).on('line', (trouble) => this.#tell(trouble));
    program.on('error', (error) => this.#tell(`the program "logger" cannot be started: ${error.message}`));
    program.on('close', () => {
      if (this.#program === program) this.#program = undefined;
    });
    program.unref();
    return program;
  }
}
