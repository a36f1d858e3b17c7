import type { AnyModule } from '../contract/index.ts';
import type { LocationPlan } from '../plan/index.ts';

/** The directive that answers a location, for those who look at the configuration; `undefined` where nothing does. */
export function answeringDirective({ modules }: LocationPlan, all: readonly AnyModule[]): string | undefined {
  for (const module of all) {
    const config = modules[module.name] as Readonly<Record<string, unknown>> | undefined;
    const directive = config && (module.answers?.(config) ?? contentDirective(module, config));
    if (directive !== undefined) return directive;
  }
  return undefined;
}

function contentDirective(
  { content = [], directives }: AnyModule,
  config: Readonly<Record<string, unknown>>,
): string | undefined {
  const field = [content].flat().find((name) => config[name] !== undefined && config[name] !== false);
  return field && Object.keys(directives).find((name) => directives[name]?.into === field);
}
