import type { ConfigReport } from '../../contract/index.ts';
import { WHOLE_INVENTORY } from './config.ts';
import type { ControlConfig, FlagVariable } from './config.ts';
import { ENDPOINTS } from './endpoints.ts';

const DUPLICATE = 'duplicate-directive';

/** What the directives of one place say of each other. */
export function validate(config: ControlConfig, report: ConfigReport<ControlConfig>): void {
  const { dictionaries = [], flags = [], flagsZone } = config;
  const names = new Set<string>();
  for (const [index, { name }] of dictionaries.entries()) {
    if (names.has(name))
      report.phrase('dictionaries', `duplicate dictionary "${name}"`, { index, rule: DUPLICATE });
    names.add(name);
  }
  if (!names.has(flagsZone)) {
    const predicate = `requires "shared_dict_zone zone=${flagsZone}:1m"`;
    const more = {
      rule: 'bad-reference',
      hint: 'the http block declares the dictionary that holds the flags',
    };
    if (needsFlags(config)) report.on('api', predicate, more);
    if (flags.length > 0) report.on('flags', predicate, more);
  }
  checkVariables(flags, report);
}

function needsFlags({ api }: ControlConfig): boolean {
  if (api === undefined) return false;
  return api === WHOLE_INVENTORY || ENDPOINTS.some(({ name, needsFlags: needs }) => needs && name === api);
}

function checkVariables(flags: readonly FlagVariable[], report: ConfigReport<ControlConfig>): void {
  const byVariable = new Map<string, FlagVariable>();
  for (const [index, flag] of flags.entries()) {
    const { variable } = flag;
    if (byVariable.has(variable))
      report.phrase('flags', `the duplicate "${variable}" variable`, { index, rule: DUPLICATE });
    byVariable.set(variable, flag);
  }
  for (const [index, { variable }] of flags.entries()) {
    if (reaches(variable, variable, byVariable))
      report.phrase('flags', `the key of "$${variable}" depends on "$${variable}" itself`, { index });
  }
}

/** True when the key of `from` uses `target`, directly or by the keys of other flags. */
function reaches(from: string, target: string, byVariable: ReadonlyMap<string, FlagVariable>): boolean {
  const seen = new Set<string>();
  const waiting = [from];
  for (let variable = waiting.pop(); variable !== undefined; variable = waiting.pop()) {
    const used = keyVariables(byVariable.get(variable));
    if (used.includes(target)) return true;
    waiting.push(...used.filter((name) => !seen.has(name)));
    for (const name of used) seen.add(name);
  }
  return false;
}

function keyVariables(flag: FlagVariable | undefined): string[] {
  return (flag?.key.parts ?? []).flatMap((part) =>
    typeof part === 'object' && 'variable' in part ? [part.variable] : [],
  );
}
