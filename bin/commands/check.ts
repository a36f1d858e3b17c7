import { resolve } from 'node:path';
import { formatFaults } from '../../grammar/index.ts';
import { load } from '../../src/pipeline.ts';
import { sourceOf } from '../source.ts';

/** `gw check [FILE ...]`: everything that a load finds. 0: nothing, 1: findings, 2: a file that cannot be read. */
export function check(files: readonly string[], prefix: string | undefined): number {
  let worst = 0;
  for (const file of files.length > 0 ? files : [undefined]) {
    const source = sourceOf({
      ...(file !== undefined && { confFile: resolve(file) }),
      ...(prefix !== undefined && { prefix }),
    });
    const { report, tree } = load({ ...source, name: file ?? source.name }, { advise: true });
    process.stdout.write(formatFaults(report, { program: 'gw', color: process.stdout.isTTY }));
    const findings = report.faults.filter(({ severity }) => severity !== 'notice').length;
    process.stdout.write(`${file ?? source.name}: ${findings || 'no'} finding${findings === 1 ? '' : 's'}\n`);
    const unreadable = !tree && report.faults.every(({ span }) => span === undefined);
    worst = Math.max(worst, unreadable ? 2 : findings > 0 ? 1 : 0);
  }
  return worst;
}
