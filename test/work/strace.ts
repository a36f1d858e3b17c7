import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from '../harness/launch.ts';
import { findProgram } from '../harness/programs.ts';

/** System calls by what they do; a call that has no row counts under its own name. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  receive: ['read', 'readv', 'recvfrom', 'recvmsg'],
  send: ['write', 'writev', 'sendto', 'sendmsg'],
  pread: ['pread64', 'preadv', 'preadv2'],
  stat: ['stat', 'lstat', 'fstat', 'statx', 'newfstatat', 'fstatat64'],
  open: ['open', 'openat', 'openat2'],
};

/**
 * Calls that requests do not cause: V8's collector and compiler ask for memory and for each other's locks when they like,
 * and the event loop also waits because of timers.
 */
const NOT_COUNTED = [
  ['brk', 'madvise', 'mmap', 'mprotect', 'mremap', 'munmap'],
  ['clone', 'clone3', 'exit', 'prctl', 'rseq', 'rt_sigprocmask', 'set_robust_list'],
  ['futex', 'getpid', 'gettid', 'membarrier', 'restart_syscall', 'sched_getaffinity', 'sched_yield'],
  ['clock_gettime', 'epoll_wait', 'epoll_pwait', 'epoll_pwait2'],
].flat();

/** What wakes the event loop of another thread: the number 1 through an eventfd. */
const WAKE_UP = String.raw`"\1\0\0\0\0\0\0\0", `;

const KIND_BY_CALL = new Map(
  Object.entries(KINDS).flatMap(([kind, calls]) => calls.map((call) => [call, kind])),
);

/** Why the system calls of this process cannot be counted here; `undefined` when they can. */
export async function whyNotTraced(pid: number): Promise<string | undefined> {
  if (findProgram('strace') === undefined) return 'strace is not installed';
  return systemCallsDuring(pid, async () => undefined).then(
    () => undefined,
    (error: unknown) => `strace may not attach: ${String(error).trim()}`,
  );
}

/** How many system calls of each kind all threads of a process made until `act` was done. */
export async function systemCallsDuring(
  pid: number,
  act: () => Promise<void>,
): Promise<ReadonlyMap<string, number>> {
  const dir = mkdtempSync(join(tmpdir(), 'gw-strace-'));
  try {
    // A file for each thread: in a common one, calls of several threads would be cut into pieces.
    const args = ['-ff', '-s', '8', '-o', join(dir, 'thread'), '-p', String(pid)];
    const tracing = launch('strace', args, { cwd: dir });
    try {
      await tracing.waitForOutput(/ attached/);
      await act();
    } finally {
      await tracing.stop('SIGINT');
    }
    return countCalls(readdirSync(dir).map((file) => readFileSync(join(dir, file), 'utf8')));
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function countCalls(threads: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of threads.flatMap((text) => text.split('\n'))) {
    const [, call] = /^(\w+)\(/.exec(line) ?? [];
    if (call === undefined || NOT_COUNTED.includes(call) || line.includes(WAKE_UP)) continue;
    const kind = KIND_BY_CALL.get(call) ?? call;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}
