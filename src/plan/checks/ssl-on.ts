import { removed } from '../../../grammar/index.ts';
import type { Fix, Report, TextEdit } from '../../../grammar/index.ts';
import type { BoundField } from '../../config/index.ts';
import { coreOf } from '../core.ts';
import type { PlannedServer } from '../planned-server.ts';

/** `ssl on` is the old way to say what each `listen` says for itself now (nginx warns and goes on). */
export function checkSslOn({ level, block }: PlannedServer, report: Report): void {
  const ssl = level.get('ssl');
  const enabled = ssl?.value['enabled'] === true ? ssl.from.get('enabled') : undefined;
  if (!enabled) return;
  const message = '"ssl" is deprecated, use the "listen ... ssl" directive instead';
  const isOwn = block.own.get('ssl')?.has('enabled') === true;
  const fix = isOwn ? inListens(enabled, { level, block }) : undefined;
  report.warn(message, enabled.spans[0], { rule: 'deprecated', fix });
}

function inListens(enabled: BoundField, { level }: Pick<PlannedServer, 'level' | 'block'>): Fix | undefined {
  const nodes = level.get('core')?.from.get('listens')?.nodes;
  const [directive] = enabled.nodes;
  if (!nodes || !directive) return undefined;
  const bare = nodes.filter((_, index) => coreOf(level).listens?.[index]?.ssl !== true);
  const edits = bare.flatMap(({ args }): TextEdit[] => {
    const last = args.at(-1);
    return last ? [{ span: { ...last.span, start: last.span.end }, text: ' ssl' }] : [];
  });
  return { title: 'say "listen ... ssl"', safe: true, edits: [...edits, removed(directive)] };
}
