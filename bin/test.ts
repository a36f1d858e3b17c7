import { formatFault, formatFaults, takesColor } from '../grammar/index.ts';
import type { PrintOptions } from '../grammar/index.ts';
import { dump, judgementOf, tree } from '../src/lookups.ts';
import { accountFault } from '../src/master/index.ts';
import { check, load } from '../src/pipeline.ts';
import type { Finding, Loaded } from '../src/pipeline.ts';
import type { Options } from './options.ts';
import { sourceOf } from './source.ts';

/** `-t` and `-T`: loads the configuration without opening anything, in nginx's words; then asks the rules of `gw check`. */
export async function test(options: Options): Promise<number> {
  const source = sourceOf(options);
  const loaded = load(source);
  const { plan, report, tree: read } = loaded;
  const printing = { program: 'gw', color: takesColor(process.stderr), hidden: report.hidden };
  process.stderr.write(formatFaults(report, printing));
  const stranger = plan && (await accountFault(plan.main.core));
  if (stranger !== undefined) process.stderr.write(`gw: [emerg] ${stranger}\n`);
  if (
    !plan ||
    !read ||
    stranger !== undefined ||
    !(await passes(loaded, options.strict === true, printing))
  ) {
    process.stderr.write(`gw: configuration file ${source.confFile} test failed\n`);
    return 1;
  }
  if (options.quiet !== true) {
    process.stderr.write(`gw: the configuration file ${source.confFile} syntax is ok\n`);
    process.stderr.write(`gw: configuration file ${source.confFile} test is successful\n`);
  }
  if (options.tree === true) process.stdout.write(tree(plan));
  if (options.test === 'dump') process.stdout.write(dump(read));
  return 0;
}

/**
 * What works in nginx must pass here as well: without `--strict`, findings are warnings, unless the configuration itself
 * refuses them.
 */
async function passes(loaded: Loaded, isStrict: boolean, printing: PrintOptions): Promise<boolean> {
  const { refuses: from } = judgementOf(loaded);
  const asksAll = isStrict || from === 'warning';
  const found = await check(loaded, { rulesOnly: true, ...(!asksAll && { severity: 'error' }) });
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
