import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { helperEnvironment } from '../../system/index.ts';

/** What the hook is to do with a TXT record. */
interface RecordCall {
  readonly action: 'present' | 'cleanup';
  /** `_acme-challenge.example.com`. */
  readonly name: string;
  readonly value: string;
}

interface HookOptions {
  /** The program, and its arguments before those of gw. */
  readonly command: readonly string[];
  /** Default: 60 s. */
  readonly timeoutMs?: number;
  /** Ends the program. */
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 60_000;
/** Of what the program writes to stderr, the end is kept. */
const KEPT_CHARACTERS = 4_096;
/** How long the rest of stderr is waited for after the end of the program. */
const STDERR_PATIENCE_MS = 500;
/** Longest part of that in a message. */
const SHOWN_CHARACTERS = 200;

/**
 * Runs `dns_hook`: `CMD [arg…] present|cleanup NAME VALUE`. No shell sees the arguments; the environment has no more than
 * other programs of gw get. Rejects with one line if it does not end with code 0 in time; then it and its children are
 * killed.
 */
export async function runDnsHook(
  { action, name, value }: RecordCall,
  { command: [program = '', ...first], timeoutMs = TIMEOUT_MS, signal }: HookOptions,
): Promise<void> {
  const what = `"dns_hook ${action} ${name}"`;
  if (signal.aborted) throw new Error(`${what} was not run: gw stops`);
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...first, action, name, value], {
      // A process group of its own, so that its children can be killed, too.
      detached: true,
      env: helperEnvironment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let text = '';
    let why: string | undefined;
    const kill = (reason: string): void => {
      why ??= reason;
      if (child.pid !== undefined) killGroup(child.pid);
    };
    const stop = (): void => kill('was stopped');
    const timer = setTimeout(() => kill(`did not end within ${timeoutMs / 1_000} s`), timeoutMs);
    signal.addEventListener('abort', stop, { once: true });
    child.stderr.on('data', (piece: Buffer) => (text = (text + piece.toString()).slice(-KEPT_CHARACTERS)));
    const ended = (reason: string | undefined): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      if (reason === undefined) resolve();
      else reject(new Error(`${what} ${reason}${lastLineOf(text, value)}`));
    };
    child.on('error', ({ message }) => ended(`cannot be run (${message})`));
    child.on('exit', (code, name_) => {
      const reason = why ?? (code === 0 ? undefined : `ended with ${code === null ? name_ : `code ${code}`}`);
      afterEnd(child.stderr, reason === undefined ? 0 : STDERR_PATIENCE_MS, () => ended(reason));
    });
  });
}

/**
 * Calls back when a stream has ended, or after a time. What a program has written may arrive after its exit, and a process
 * that it has left behind may hold its stderr open.
 */
function afterEnd(stream: Readable, mostMs: number, then: () => void): void {
  const end = (): void => {
    clearTimeout(patience);
    stream.off('end', end);
    stream.destroy();
    then();
  };
  const patience = setTimeout(end, stream.readableEnded ? 0 : mostMs);
  stream.once('end', end);
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** The last line that the program has written, without the value, which is made from the key of the account. */
function lastLineOf(text: string, value: string): string {
  const line = text.trimEnd().split('\n').at(-1)?.replaceAll(value, '…').slice(0, SHOWN_CHARACTERS) ?? '';
  return line === '' ? '' : `: ${line}`;
}
