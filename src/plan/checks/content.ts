import type { Report } from '../../../grammar/index.ts';
import type { ResolvedConfig, ResolvedConfigs } from '../../config/index.ts';
import type { AnyModule } from '../../contract/index.ts';

/** A location is answered by one module: two that both want to answer are a fault of the later one. */
export function checkContent(used: readonly AnyModule[], level: ResolvedConfigs, report: Report): void {
  // A module may be used here without answering, for what it declares further out.
  const [before, after] = used.flatMap(({ name, content = [] }) =>
    [content]
      .flat()
      .flatMap((field) => (isOff(level.get(name), field) ? [] : (level.get(name)?.from.get(field) ?? []))),
  );
  if (!before || !after) return;
  report.emerg(
    `"${after.directive}" cannot be used here: "${before.directive}" already answers this location`,
    after.spans[0],
  );
}

/** A directive that says `off` answers nothing. */
function isOff(level: ResolvedConfig | undefined, field: string): boolean {
  const config = level?.value as Readonly<Record<string, unknown>> | undefined;
  return config?.[field] === false;
}
