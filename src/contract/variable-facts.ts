import type { AnyModule } from './module.ts';

/** A built-in variable, as people look it up. */
export interface VariableFacts {
  readonly name: string;
  readonly module: string;
  readonly summary: string;
  /** `set` may change it. */
  readonly settable: boolean;
}

/** Every built-in variable by name; of a family, the prefix and what its names continue with: `arg_*`. */
export function variableFacts(modules: readonly AnyModule[]): readonly VariableFacts[] {
  return modules.flatMap(({ name: module, variables = {}, families = {} }) => [
    ...Object.entries(variables).map(([name, { summary, assign }]) => ({
      name,
      module,
      summary,
      settable: assign !== undefined,
    })),
    ...Object.entries(families).map(([prefix, { summary }]) => ({
      name: `${prefix}*`,
      module,
      summary,
      settable: false,
    })),
  ]);
}
