import type { DirectiveNode, Report } from '../../grammar/index.ts';
import { nearest } from './nearest.ts';
import { refusalOf } from './refused.ts';
import type { Entry, Registry } from './registry.ts';
import type { AnyRow, Context } from './row.ts';

interface Choosing {
  readonly registry: Registry;
  readonly report: Report;
}

/** The row that a directive means here; reports an unknown name, a wrong context, a wrong shape or arity. */
export function chooseEntry(
  node: DirectiveNode,
  context: Context,
  { registry, report }: Choosing,
): Entry | undefined {
  const name = node.name.value;
  const rows = registry.named(name);
  if (rows.length === 0) return reportUnknown(node, context, { registry, report });
  const entry = rows.find(({ row }) => row.contexts.includes(context));
  if (!entry) {
    const legal = [...new Set(rows.flatMap(({ row }) => row.contexts))].map(contextName);
    report.emerg(
      `"${name}" directive is not allowed here`,
      node.name.span,
      `allowed in: ${legal.join(', ')}`,
    );
    return undefined;
  }
  return hasRightShape(node, entry, report) ? entry : undefined;
}

/** A context as messages call it. */
export function contextName(context: Context): string {
  return context.endsWith(' if') ? `if in ${context.slice(0, -3)}` : context;
}

/** `Syntax: …` of a row, without the semicolon. */
export function syntaxOf(name: string, row: AnyRow): string {
  if ('data' in row) return `${name} ${row.syntax}`;
  const words = [name, row.args.syntax].filter(Boolean).join(' ');
  return 'opens' in row ? `${words} { ... }` : words;
}

function reportUnknown(node: DirectiveNode, context: Context, { registry, report }: Choosing): undefined {
  const name = node.name.value;
  const refusal = refusalOf(name);
  if (refusal !== undefined) {
    report.emerg(`"${name}" directive is not supported`, node.name.span, refusal);
    return;
  }
  const near = nearest(name, registry.legalIn(context));
  report.emerg(`unknown directive "${name}"`, node.name.span, near && `did you mean "${near}"?`);
}

function hasRightShape(node: DirectiveNode, { name, row }: Entry, report: Report): boolean {
  const takesBlock = 'opens' in row || 'data' in row;
  if (takesBlock && !node.block) {
    report.emerg(`directive "${name}" has no opening "{"`, node.name.span);
    return false;
  }
  if (!takesBlock && node.block) {
    report.emerg(`directive "${name}" is not terminated by ";"`, node.name.span);
    return false;
  }
  const { min, max } = 'data' in row ? { min: 0, max: Infinity } : row.args;
  if (node.args.length >= min && node.args.length <= max) return true;
  const at = node.args[max]?.span ?? node.name.span;
  report.emerg(`invalid number of arguments in "${name}" directive`, at, `syntax: ${syntaxOf(name, row)}`);
  return false;
}
