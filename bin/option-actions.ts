import { formatFault, formatFaults, type PrintOptions, takesColor } from '../grammar/index.ts';
import { dump, tree } from '../src/tools/lookups.ts';
import { accountFault, pidFileOf, readGatewayPid } from '../src/master/index.ts';
import { check, checkPolicyOf, type Finding, load, type Loaded } from '../src/pipeline.ts';
import { adviceWithout, chosenSource, refusalOf, tellChoice } from './chosen-config.ts';
import type { Options, Signal } from './options.ts';
import { askFor, sendTo, tellOutcome } from './running-gateway.ts';
import { visible } from './terminal.ts';

/**
 * `-t` and `-T`: loads the configuration without opening anything, prints nginx's messages, then runs the rules of `gw
 * check`.
 */
export async function test(options: Options): Promise<number> {
  const source = chosenSource(options);
  if (options.quiet !== true) tellChoice(source, options.confFile);
  const loaded = load(source);
  const { plan, report, advice, tree: read } = loaded;
  const printing = { program: 'gw', color: takesColor(process.stderr), hidden: report.hidden };
  process.stderr.write(formatFaults(report, printing) + adviceWithout(source, options.confFile));
  const accountProblem = plan && (await accountFault(plan.main.core));
  if (accountProblem !== undefined) process.stderr.write(`gw: [emerg] ${accountProblem}\n`);
  if (
    !plan ||
    !read ||
    accountProblem !== undefined ||
    !(await passes(loaded, options.strict === true, printing))
  ) {
    if (advice !== undefined) process.stderr.write(`gw: ${advice}\n`);
    process.stderr.write(`gw: configuration file ${source.confFile} test failed\n`);
    return 1;
  }
  if (options.quiet !== true) {
    process.stderr.write(`gw: the configuration file ${source.confFile} syntax is ok\n`);
    process.stderr.write(`gw: configuration file ${source.confFile} test is successful\n`);
  }
  if (options.tree === true) process.stdout.write(tree(plan));
  if (options.test === 'dump') process.stdout.write(dump(read, source.prefix));
  return 0;
}

/**
 * True if the test passes. A configuration that works in nginx must pass: without `--strict` findings are warnings,
 * unless the configuration itself refuses them.
 */
async function passes(loaded: Loaded, isStrict: boolean, printing: PrintOptions): Promise<boolean> {
  const { refuses: from } = checkPolicyOf(loaded);
  const runsAllRules = isStrict || from === 'warning';
  const found = await check(loaded, { rulesOnly: true, ...(!runsAllRules && { severity: 'error' }) });
  const findings = found.filter(({ severity }) => severity !== 'info');
  const isRefused = ({ severity }: Finding): boolean =>
    from !== undefined && (severity === 'error' || severity === from);
  for (const finding of findings) {
    const { rule, slug, message, span, hint } = finding;
    const severity = isRefused(finding) ? 'emerg' : 'warn';
    const fault = { severity, message: `${rule} ${slug}: ${message}`, hint, ...(span && { span }) } as const;
    process.stderr.write(`${formatFault(fault, printing)}\n`);
  }
  const warnings = loaded.report.faults.filter(({ severity }) => severity === 'warn').length;
  return isStrict ? warnings + findings.length === 0 : !findings.some(isRefused);
}

const NAMES: Readonly<Record<Signal, NodeJS.Signals>> = {
  stop: 'SIGTERM',
  quit: 'SIGQUIT',
  reopen: 'SIGUSR1',
  reload: 'SIGHUP',
};

/**
 * `-s`: sends a signal to the process in the configuration's pid file. A configuration with faults is never sent to
 * reload. With `--wait`, tells how the reload went.
 */
export async function sendSignal(options: Options): Promise<number> {
  const source = chosenSource(options);
  const refusal = refusalOf(source, options.confFile, 'signal');
  if (refusal !== undefined) {
    process.stderr.write(`gw: [error] ${refusal}\n`);
    return 1;
  }
  const { plan, report } = load(source);
  process.stderr.write(formatFaults(report, { program: 'gw', color: process.stderr.isTTY }));
  if (!plan) return 1;
  const pidFile = pidFileOf(plan);
  try {
    if (options.wait === true) return tellOutcome(await askFor('reload', pidFile));
    sendTo(readGatewayPid(pidFile), NAMES[options.signal as Signal]);
    return 0;
  } catch (error) {
    process.stderr.write(`gw: [error] ${visible((error as Error).message)}\n`);
    return 1;
  }
}
