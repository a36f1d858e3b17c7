import type { Report } from '../../../grammar/index.ts';
import { nearest } from '../../config/index.ts';
import type { BoundConfig } from '../../config/index.ts';
import type { AnyModule } from '../../contract/index.ts';
import type { VariablePlan } from '../plan.ts';

interface Checking {
  readonly modules: readonly AnyModule[];
  readonly report: Report;
}

/** Built-in variables that `set` may change, as in nginx. */
const CHANGEABLE: ReadonlySet<string> = new Set(['args']);

/** Every variable that some text uses must exist: a module's, of a family such as `$arg_*`, or the configuration's own. */
export function checkVariables({ uses, defined }: BoundConfig, { modules, report }: Checking): VariablePlan {
  const builtIn = new Set(modules.flatMap(({ variables = {} }) => Object.keys(variables)));
  const families = modules.flatMap((module) => Object.keys(module.families ?? {}));
  for (const [name, span] of defined) {
    if (builtIn.has(name) && !CHANGEABLE.has(name)) report.emerg(`the duplicate "${name}" variable`, span);
  }
  for (const { name, span } of uses) {
    if (builtIn.has(name) || defined.has(name) || families.some((prefix) => isOfFamily(name, prefix)))
      continue;
    const near = nearest(name, [...builtIn, ...defined.keys()]);
    report.emerg(`unknown "${name}" variable`, span, near && `did you mean "$${near}"?`);
  }
  const own = [...defined.keys()].filter((name) => !builtIn.has(name));
  return {
    slots: Object.fromEntries(own.map((name, slot) => [name, slot])),
    used: [...new Set(uses.map(({ name }) => name))],
  };
}

function isOfFamily(name: string, prefix: string): boolean {
  return name.startsWith(prefix) && name.length > prefix.length;
}
