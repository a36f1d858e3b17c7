import type { ConfigReport } from '../../contract/index.ts';
import type { LimitConnConfig } from './config.ts';

const DUPLICATE = 'duplicate-directive';

/** Each zone is declared once, each limit has a zone, and no two limits the same one. */
export function validate(
  { zones = [], limits = [] }: LimitConnConfig,
  report: ConfigReport<LimitConnConfig>,
): void {
  const bound = new Map<string, string>();
  for (const [index, { name, keyText }] of zones.entries()) {
    const before = bound.get(name);
    if (before === undefined) bound.set(name, keyText);
    else
      report.phrase('zones', `limit_conn_zone "${name}" is already bound to key "${before}"`, {
        index,
        rule: DUPLICATE,
      });
  }
  const used = new Set<string>();
  for (const [index, { zone }] of limits.entries()) {
    if (!bound.has(zone))
      report.phrase('limits', `zero size shared memory zone "${zone}"`, {
        index,
        rule: 'bad-reference',
        hint: `declare it: limit_conn_zone key zone=${zone}:10m`,
      });
    if (used.has(zone))
      report.phrase('limits', '"limit_conn" directive is duplicate', { index, rule: DUPLICATE });
    used.add(zone);
  }
}
