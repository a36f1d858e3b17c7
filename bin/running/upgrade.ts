import { formatFaults } from '../../grammar/index.ts';
import { pidFileOf } from '../../src/master/index.ts';
import { load } from '../../src/pipeline.ts';
import { VERSION } from '../../src/version.ts';
import { chosenSource, refusalOf } from '../chosen-config.ts';
import { askFor, statusOf, supervisorText, tellOutcome } from '../running-gateway.ts';
import { visible } from '../terminal.ts';

/** Options of `gw upgrade`. */
export interface UpgradeOptions {
  readonly config?: string;
  readonly prefix?: string;
  readonly orReload?: boolean;
}

/**
 * `gw upgrade`: replaces the program of the running gateway by the one that is installed. Exit code 1: the configuration
 * has a fault, or the running program goes on.
 */
export async function upgrade({ config, prefix, orReload }: UpgradeOptions): Promise<number> {
  const source = chosenSource({ confFile: config, prefix });
  const refusal = refusalOf(source, config, 'signal');
  if (refusal !== undefined) {
    process.stderr.write(`gw: [error] ${refusal}\n`);
    return 1;
  }
  const { plan, report } = load(source);
  process.stderr.write(formatFaults(report, { program: 'gw', color: process.stderr.isTTY }));
  if (!plan) return 1;
  const pidFile = pidFileOf(plan);
  try {
    const isSame = (await statusOf(pidFile)).version === VERSION;
    const kind = orReload && isSame ? 'reload' : 'upgrade';
    const outcome = await askFor(kind, pidFile);
    return tellOutcome(outcome, supervisorText(await statusOf(pidFile), '; '));
  } catch (error) {
    process.stderr.write(`gw: [error] ${visible((error as Error).message)}\n`);
    return 1;
  }
}
