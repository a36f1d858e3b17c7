import type { DirectiveNode, Fix, Report, Word } from '../../grammar/index.ts';
import { nearest, renaming } from './nearest.ts';
import type { DirectiveEntry, Registry } from './registry.ts';
import { isForeign, refusalOf } from './refusals.ts';
import type { AnyRow, Context } from './row.ts';
import { canSkip, type Compat, consequenceOf } from './skipping.ts';

interface ChoiceOptions {
  readonly registry: Registry;
  readonly report: Report;
  readonly compat: Compat;
}

/** The row of a directive in a context. Reports an unknown name, a wrong context, a wrong shape or arity. */
export function chooseEntry(
  node: DirectiveNode,
  context: Context,
  choosing: ChoiceOptions,
): DirectiveEntry | undefined {
  const { registry, report } = choosing;
  const name = node.name.value;
  const rows = registry.named(name);
  if (rows.length === 0 || isForeign(name, context)) return reportUnknown(node, context, choosing);
  const entry = rows.find(({ row }) => row.contexts.includes(context));
  if (!entry) {
    const legal = contextsText(
      rows.flatMap(({ row }) => row.contexts),
      registry,
    );
    report.emerg(`"${name}" directive is not allowed here`, node.name.span, {
      rule: 'wrong-context',
      hint: `allowed in: ${legal}`,
    });
    return undefined;
  }
  return hasRightShape(node, entry, report) ? entry : undefined;
}

/** A list of contexts for messages; contexts that no directive opens are left out. */
export function contextsText(contexts: readonly Context[], registry: Registry): string {
  return [...new Set(contexts)]
    .filter((context) => registry.contexts.has(context))
    .map(contextName)
    .join(', ');
}

function contextName(context: Context): string {
  return context.endsWith(' if') ? `if in ${context.slice(0, -3)}` : context;
}

/** The syntax of a row as the reference prints it, without the semicolon. */
export function syntaxOf(name: string, row: AnyRow): string {
  if ('data' in row) return `${name} ${row.syntax}`;
  const words = [name, row.args.syntax].filter(Boolean).join(' ');
  return 'opens' in row ? `${words} { ... }` : words;
}

const LEVELS = { refuse: 'emerg', ignore: 'notice', skip: 'warn' } as const;

function reportUnknown(
  node: DirectiveNode,
  context: Context,
  { registry, report, compat }: ChoiceOptions,
): undefined {
  const name = node.name.value;
  const refusal = refusalOf(name, context);
  if (refusal) {
    const how = compat === 'skip' && !canSkip(name, context) ? 'refuse' : compat;
    const skipped = how === 'skip' ? `, ${consequenceOf(name, context)}` : '';
    report[LEVELS[how]](`"${name}" directive is ${refusal.is}${skipped}`, node.name.span, {
      rule: 'unsupported-module',
      hint: refusal.reason,
    });
    return;
  }
  report.emerg(`unknown directive "${name}"`, node.name.span, () => {
    const near = nearest(name, registry.legalIn(context));
    return {
      rule: 'unknown-directive',
      hint: near && `did you mean "${near}"?`,
      fix: near === undefined ? undefined : renaming(node.name.span, near),
    };
  });
}

function hasRightShape(node: DirectiveNode, { name, row }: DirectiveEntry, report: Report): boolean {
  const takesBlock = 'opens' in row || 'data' in row;
  if (takesBlock && !node.block) {
    const hint = `syntax: ${syntaxOf(name, row)}`;
    report.emerg(`directive "${name}" has no opening "{"`, node.name.span, {
      rule: 'unexpected-token',
      hint,
    });
    return false;
  }
  if (!takesBlock && node.block) {
    const hint = `"${name}" takes no block`;
    report.emerg(`directive "${name}" is not terminated by ";"`, node.name.span, {
      rule: 'unexpected-token',
      hint,
    });
    return false;
  }
  const { min, max } = 'data' in row ? (row.words ?? { min: 0, max: 0 }) : row.args;
  if (node.args.length >= min && node.args.length <= max) return true;
  const at = node.args[max]?.span ?? node.name.span;
  report.emerg(`invalid number of arguments in "${name}" directive`, at, {
    rule: 'wrong-arity',
    hint: `syntax: ${syntaxOf(name, row)}`,
    fix: quoting(node.args.slice(max - 1), row),
  });
  return false;
}

/** Matches the syntax of readers whose last word is free text, which a blank has probably split. */
const FREE_TEXT = /(^|\$variable |name )(path|file|value)$|^realm|\[text\]/;

/** The fix that quotes words which were meant to be one. */
function quoting(words: readonly Word[], row: AnyRow): Fix | undefined {
  const [first, last] = [words[0], words.at(-1)];
  if (!first || !last || first === last || 'data' in row || !FREE_TEXT.test(row.args.syntax))
    return undefined;
  const { source, start } = first.span;
  const span = { source, start, end: last.span.end };
  const text = source.text.slice(start, span.end);
  if (/["'\n]/.test(text)) return undefined;
  return { title: `quote "${text}"`, safe: true, edits: [{ span, text: `"${text}"` }] };
}
