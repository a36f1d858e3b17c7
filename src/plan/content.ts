import type { Report } from '../../grammar/index.ts';
import type { BoundBlock, BoundField, Registry, ResolvedConfig, ResolvedConfigs } from '../config/index.ts';
import type { AnyModule } from '../contract/index.ts';

interface ContentModule {
  readonly name: string;
  readonly enabled: AnyModule['enabled'];
  /** The fields whose directives make the module serve a location. */
  readonly fields: readonly string[];
}

/** Determines the module that serves a block. */
export class ContentModules {
  readonly #modules: readonly ContentModule[];
  readonly #registry: Registry;

  constructor(modules: readonly AnyModule[], registry: Registry) {
    this.#registry = registry;
    this.#modules = modules
      .filter(({ content }) => content !== undefined)
      .map(({ name, content = [], enabled }) => ({ name, enabled, fields: [content].flat() }));
  }

  /** Checks that only one module serves a block. If there are two, the later directive is reported. */
  check(level: ResolvedConfigs, report: Report): void {
    let before: BoundField | undefined;
    for (const { name, enabled, fields } of this.#modules) {
      const config = level.get(name);
      if (!config || enabled?.(config.value) === false) continue;
      for (const field of fields) {
        // A directive with the value `off` does not make its module serve.
        const after = config.value[field] === false ? undefined : config.from.get(field);
        if (after && before) {
          const message = `"${after.directive}" cannot be used here: "${before.directive}" already answers this location`;
          const [first] = before.spans;
          return report.emerg(message, after.spans[0], {
            rule: 'wrong-context',
            related: first && [{ span: first, label: 'answers this location' }],
          });
        }
        before ??= after;
      }
    }
  }

  /**
   * Returns the configs of an `if` or `limit_except`. A module that the block's own directives name serves the block
   * instead of the location's module (nginx: the handler of the innermost block counts).
   */
  replaced(block: BoundBlock, level: ResolvedConfigs): ResolvedConfigs {
    const named = this.#modules.filter(({ name, fields }) =>
      fields.some((field) => block.own.get(name)?.has(field)),
    );
    if (named.length === 0) return level;
    const replaced = new Map<string, ResolvedConfig>();
    for (const module of this.#modules) {
      const config = named.includes(module) ? undefined : level.get(module.name);
      if (config && module.fields.some((field) => config.from.has(field)))
        replaced.set(module.name, this.#without(config, module));
    }
    return { get: (owner) => replaced.get(owner) ?? level.get(owner) };
  }

  #without({ value, from }: ResolvedConfig, { name, fields }: ContentModule): ResolvedConfig {
    const rows = this.#registry.fields(name);
    const served = new Set(fields);
    const others = Object.entries(value).filter(([field]) => !served.has(field));
    const defaults = fields.flatMap((field) => {
      const fallback = rows.get(field)?.default;
      return fallback === undefined ? [] : [[field, fallback] as const];
    });
    return {
      value: Object.fromEntries([...others, ...defaults]),
      from: new Map([...from].filter(([field]) => !served.has(field))),
    };
  }
}
