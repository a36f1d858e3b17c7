import type { Report } from '../../../grammar/index.ts';
import type { BoundField, ResolvedConfigs } from '../../config/index.ts';
import type { AnyModule } from '../../contract/index.ts';

/** A location is answered by one module: two that both want to answer are a fault of the later one. */
export function contentCheck(
  modules: readonly AnyModule[],
): (level: ResolvedConfigs, report: Report) => void {
  const answering = modules
    .filter(({ content }) => content !== undefined)
    .map(({ name, content = [], enabled }) => ({ name, enabled, fields: [content].flat() }));
  return (level, report) => {
    let before: BoundField | undefined;
    for (const { name, enabled, fields } of answering) {
      const config = level.get(name);
      if (!config || enabled?.(config.value) === false) continue;
      for (const field of fields) {
        // A directive that says `off` answers nothing.
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
  };
}
