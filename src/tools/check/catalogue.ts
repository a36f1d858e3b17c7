import { nearest, oncePer } from '../../config/index.ts';
import type { AnyModule, CheckedConfig, CheckedModule, Rule } from '../../contract/index.ts';
import { OWN_RULES } from './rules/index.ts';
import { isPrefix, means } from './selection.ts';

/** All rules: those about the language, the plan and several modules, and those of single modules. */
export class Catalogue {
  /** Sorted by id. */
  readonly rules: readonly Rule[];
  readonly #byName: ReadonlyMap<string, Rule>;

  private constructor(rules: readonly Rule[]) {
    this.rules = rules.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    this.#byName = new Map(this.rules.flatMap((rule) => [rule.id, rule.slug].map((name) => [name, rule])));
  }

  /** Loads the rules of the modules, which only a check needs. */
  static async of(modules: readonly AnyModule[]): Promise<Catalogue> {
    const brought = await Promise.all(modules.map(rulesOf));
    return new Catalogue([...OWN_RULES, ...brought.flat()]);
  }

  /** The rule with an id or slug. */
  named(name: string): Rule | undefined {
    return this.#byName.get(name);
  }

  /** The rule with a slug that the program itself uses; throws if there is none. */
  known(name: string): Rule {
    const rule = this.named(name);
    if (!rule) throw new Error(`there is no rule "${name}"`);
    return rule;
  }

  /** The rules that a name selects: an id, a slug, or a prefix of ids. */
  meant(name: string): readonly Rule[] {
    return this.rules.filter((rule) => means(name, rule));
  }

  /** True if a name selects a rule. A prefix of a subject without rules is valid, too. */
  has(name: string): boolean {
    return isPrefix(name) || this.meant(name).length > 0;
  }

  /** The name of the nearest rule for a misspelt name. */
  nearest(name: string): string | undefined {
    const isId = /^gw/i.test(name);
    return nearest(
      name,
      this.rules.map(({ id, slug }) => (isId ? id : slug)),
    );
  }
}

/** The rules of a module, each called with the configuration as its module sees it. */
async function rulesOf(module: AnyModule): Promise<readonly Rule[]> {
  if (!module.rules) return [];
  const seenBy = oncePer((config: CheckedConfig) => checkedModule(config, module));
  return (await module.rules()).rules.map(({ check, ...rule }) =>
    check ? { ...rule, check: (config) => check(seenBy(config)) } : rule,
  );
}

function checkedModule(
  config: CheckedConfig,
  { name, sensitive }: AnyModule,
): CheckedModule<Record<string, unknown>> {
  return {
    ...config,
    configIn: (block) => block.config(name),
    nodesIn: (block, field) => block.from(name).get(field)?.nodes ?? [],
    sensitiveIn: (block) => sensitive?.(block.config(name)),
  };
}
