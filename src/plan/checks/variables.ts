import type { FaultDetails, Fix, Report, Span } from '../../../grammar/index.ts';
import {
  type BoundConfig,
  type Compat,
  isNginxVariable,
  nearest,
  type VariableUse,
} from '../../config/index.ts';
import type { AnyModule } from '../../contract/index.ts';
import type { VariablePlan } from '../plan.ts';

const DUPLICATE = { rule: 'duplicate-directive' };
const NOT_AVAILABLE = 'this variable of nginx is not available in this version of gw';

interface CheckOptions {
  readonly modules: readonly AnyModule[];
  readonly report: Report;
  readonly compat: Compat;
}

/**
 * Checks that every variable in use exists: a module has it, a family such as `$arg_*` covers it, or the configuration
 * defines it.
 */
export function checkVariables(
  { uses, defined, fixed, captured }: BoundConfig,
  { modules, report, compat }: CheckOptions,
): VariablePlan {
  const definitions = modules.flatMap(({ variables = {} }) => Object.entries(variables));
  const builtIn = new Set(definitions.map(([name]) => name));
  const changeable = new Set(definitions.flatMap(([name, { assign }]) => (assign ? name : [])));
  const families = modules.flatMap((module) => Object.keys(module.families ?? {}));
  for (const [name, span] of defined) {
    if (builtIn.has(name) && !changeable.has(name))
      report.emerg(`the duplicate "${name}" variable`, span, DUPLICATE);
  }
  /** Variables of nginx that are always empty in gw. */
  const empty = new Set<string>();
  for (const { name, span } of uses) {
    if (builtIn.has(name) || defined.has(name) || families.some((prefix) => name.startsWith(prefix)))
      continue;
    const message = `unknown "${name}" variable`;
    if (compat !== 'refuse' && isNginxVariable(name)) {
      empty.add(name);
      if (compat === 'ignore')
        report.notice(message, span, { rule: 'unsupported-module', hint: NOT_AVAILABLE });
    } else report.emerg(message, span, () => detailsFor({ name, span }, { builtIn, families, defined }));
  }
  const own = [...defined.keys()].filter((name) => !builtIn.has(name));
  return {
    slots: Object.fromEntries([...own, ...empty].map((name, slot) => [name, slot])),
    assigned: Object.fromEntries(own.filter((name) => !fixed.has(name)).map((name) => [name, true])),
    captured: Object.fromEntries(own.filter((name) => captured.has(name)).map((name) => [name, true])),
    used: [...new Set(uses.map(({ name }) => name))],
  };
}

interface KnownVariables {
  readonly builtIn: ReadonlySet<string>;
  readonly families: readonly string[];
  readonly defined: ReadonlyMap<string, unknown>;
}

function detailsFor(
  { name, span }: VariableUse,
  { builtIn, families, defined }: KnownVariables,
): FaultDetails {
  if (name.startsWith('flag_')) return flagUndefined(name);
  const rule = 'unknown-variable';
  if (name === 'memcached_key') return { rule, hint: 'set it: set $memcached_key "$uri?$args"' };
  const near = nearest(name, [
    ...builtIn,
    ...defined.keys(),
    ...families.flatMap((prefix) => likeOf(name, prefix)),
  ]);
  // If a variable of the same module has a similar name, this one is more likely misspelt than missing in gw.
  const isOfModule = near !== undefined && near.startsWith(name.slice(0, name.indexOf('_') + 1));
  if (isNginxVariable(name) && !isOfModule) return { rule: 'unsupported-module', hint: NOT_AVAILABLE };
  return near === undefined ? { rule } : { rule, hint: `did you mean "$${near}"?`, fix: renamed(span, near) };
}

/** The details for a variable that is named like a feature flag. */
function flagUndefined(name: string): FaultDetails {
  const flag = name.slice('flag_'.length);
  return { rule: 'flag-undefined', hint: `declare it: feature_flag $${name} ${flag}` };
}

/** Returns the fix that renames a variable and keeps its braces. */
function renamed(span: Span, name: string): Fix {
  const isBracketed = span.source.text.startsWith('${', span.start);
  const text = isBracketed ? `\${${name}}` : `$${name}`;
  return { title: `replace it with "${text}"`, safe: false, edits: [{ span, text }] };
}

/** Returns the names of a family whose prefix may be misspelt: `htp_host` is similar to `http_host`. */
function likeOf(name: string, prefix: string): string[] {
  const words = prefix.split('_').length - 1;
  const rest = name.split('_').slice(words).join('_');
  return rest === '' ? [] : [prefix + rest];
}
