import { readFileSync, readdirSync } from 'node:fs';

/** Linux shows times in /proc in hundredths of a second on every architecture that Node runs on (USER_HZ). */
const TICKS_PER_SECOND = 100;

/**
 * CPU time that processes have used so far with all their threads and all their descendants, those that have ended
 * included; resolution 10 ms (proc(5), fields utime, stime, cutime and cstime).
 */
export function cpuSeconds(pids: readonly number[]): number {
  const stats = statsByPid();
  let ticks = 0;
  for (const pid of treeOf(pids, stats)) ticks += stats.get(pid)?.ticks ?? 0;
  return ticks / TICKS_PER_SECOND;
}

/** What `act` gives, and the CPU time that processes have used meanwhile. */
export async function withCpuSeconds<T>(
  pids: readonly number[],
  act: () => Promise<T>,
): Promise<{ readonly given: T; readonly cpuSeconds: number }> {
  const before = cpuSeconds(pids);
  const given = await act();
  return { given, cpuSeconds: cpuSeconds(pids) - before };
}

/** How many processes have this one as their parent. */
export function childrenOf(pid: number): number {
  return [...statsByPid().values()].filter(({ parent }) => parent === pid).length;
}

/** CPU time of the children of this process that have ended. */
export function endedChildrenCpuSeconds(): number {
  return (readStat('self')?.endedChildrenTicks ?? 0) / TICKS_PER_SECOND;
}

/** A process and all its descendants. */
export function processesOf(pid: number): number[] {
  return [...treeOf([pid], statsByPid())];
}

export interface Memory {
  /** Shared pages are divided among all processes of the machine that share them. */
  readonly pssBytes: number;
  /** Shared pages count once per process. */
  readonly rssBytes: number;
  /** Shared pages of files count once: what the tree would take if nothing else ran. */
  readonly aloneBytes: number;
}

/** Memory of a process with all its descendants (proc_pid_smaps(5)). */
export function memoryOf(pid: number): Memory {
  let [pssBytes, rssBytes, anonymousBytes] = [0, 0, 0];
  const fileBytes = new Map<string, number>();
  for (const member of treeOf([pid], statsByPid())) {
    const ofMember = new Map<string, number>();
    for (const { file, rss, pss, anonymous } of mappingsOf(member)) {
      pssBytes += pss;
      rssBytes += rss;
      anonymousBytes += anonymous;
      ofMember.set(file, (ofMember.get(file) ?? 0) + rss - anonymous);
    }
    for (const [file, bytes] of ofMember) fileBytes.set(file, Math.max(bytes, fileBytes.get(file) ?? 0));
  }
  const aloneBytes = [...fileBytes.values()].reduce((sum, bytes) => sum + bytes, anonymousBytes);
  return { pssBytes, rssBytes, aloneBytes };
}

interface Mapping {
  readonly file: string;
  readonly rss: number;
  readonly pss: number;
  readonly anonymous: number;
}

function mappingsOf(pid: number): Mapping[] {
  const text = readFileSync(`/proc/${pid}/smaps`, 'utf8');
  // Each begins with a line `from-to perms offset device inode path`; the others are `Field: n kB`.
  return text.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m).map((mapping) => {
    const bytes = (field: string) =>
      Number(new RegExp(`^${field}: +(\\d+) kB`, 'm').exec(mapping)?.[1]) * 1024;
    const [, file = ''] = /^\S+ \S+ \S+ \S+ \S+ *(.*)/.exec(mapping) ?? [];
    return { file, rss: bytes('Rss'), pss: bytes('Pss'), anonymous: bytes('Anonymous') };
  });
}

interface Stat {
  readonly parent: number;
  readonly ticks: number;
  readonly endedChildrenTicks: number;
}

function treeOf(roots: readonly number[], stats: ReadonlyMap<number, Stat>): Set<number> {
  const tree = new Set(roots);
  // A set is walked in the order of insertion, and what is added meanwhile is walked too.
  for (const member of tree) {
    for (const [pid, { parent }] of stats) if (parent === member) tree.add(pid);
  }
  return tree;
}

function statsByPid(): Map<number, Stat> {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const stats = new Map<number, Stat>();
  for (const pid of pids) {
    const stat = readStat(pid);
    if (stat) stats.set(Number(pid), stat);
  }
  return stats;
}

function readStat(pid: string): Stat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // Ended since the directory was listed.
    return undefined;
  }
  // The name in brackets may hold blanks and brackets; behind it follow state (3), ppid (4), … utime (14) … cstime (17).
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number) => Number(fields[number - 3]);
  const endedChildrenTicks = field(16) + field(17);
  return { parent: field(4), ticks: field(14) + field(15) + endedChildrenTicks, endedChildrenTicks };
}
