import type { SoakedGateway } from './gateway.ts';

/** Lines of the log that happenings account for. */
const ASKED_FOR = [
  /worker \d+ crashed: (Error: sabotage|it did not respond)/,
  /\[emerg\] .*gw\.conf:\d+/,
  /worker \d+ .*(is gone|ended|exited)/,
  /worker \d+ (does not respond for|hangs)/,
  /(process|master) .*(ended|exited|killed|SIGKILL|does not answer|hangs|heartbeat)/,
  /asked for/,
];

/** Lines that no happening accounts for: the first line of each kind, by the kind. */
export function foundInLog(gateway: SoakedGateway): Map<string, string> {
  const found = new Map<string, string>();
  const lines = `${gateway.errorLog()}\n${gateway.output()}`.split('\n');
  for (const line of lines) {
    const isAlert = /\[(crit|alert|emerg)\]/.test(line) && !ASKED_FOR.some((pattern) => pattern.test(line));
    const isStack = /^ +at \S.*:\d+:\d+\)?$/.test(line);
    const isWarning = /(MaxListenersExceeded|Deprecation|Unhandled|uncaught)/i.test(line);
    if (!isAlert && !isStack && !isWarning) continue;
    const kind = line
      .replace(/^\S+ \S+ /, '')
      .replaceAll(/\d+/g, 'N')
      .slice(0, 160);
    if (!found.has(kind)) found.set(kind, line.slice(0, 1_000));
  }
  return found;
}
