import type { Counters } from '../zone/index.ts';

const LOST = {
  name: 'gw_log_dropped_total',
  help: 'Lines of logs that were lost: the file or the server could not be reached, or too many lines waited for it.',
};

/** Returns the function that counts lost lines, by the path of their log or `syslog`. */
export function countLostLines(metrics: Counters): (log: string, lines: number) => void {
  return (log, lines) => metrics.counter(LOST, { log }).add(lines);
}
