import { Report, type Word } from '../../../../grammar/index.ts';
import type { ArgReader, ReadScope, Rows } from '../../../config/index.ts';
import { type DbrestConfig, directives } from '../directives/index.ts';

/** The field of a directive with its value, or why the words are not accepted. */
export type ReadValue =
  { readonly field: keyof DbrestConfig; readonly value: unknown } | { readonly fault: string };

const ROWS: Rows<DbrestConfig> = directives;

/**
 * Reads words as the directive does in a file: what that refuses is refused here. `name` is what the fault is about. A fault of a
 * secret quotes nothing of it.
 */
export function readValue(directive: string, words: readonly string[], name: string): ReadValue {
  const row = ROWS[directive];
  if (!row || !('args' in row) || row.into === undefined) throw new Error(`no directive "${directive}"`);
  const isSecret = row.secret !== undefined;
  const args: ArgReader<unknown> = row.args;
  const { scope, report } = readScope(name);
  const value =
    words.length < args.min || words.length > args.max
      ? undefined
      : args.read(
          words.map((word) => wordOf(word, scope)),
          scope,
        );
  if (value !== undefined && !report.failed) return { field: row.into, value };
  const [fault] = report.faults;
  const hint = isSecret || typeof fault?.hint !== 'string' ? '' : `, ${fault.hint}`;
  return { fault: `${withoutName(fault?.message ?? `expected ${args.syntax}`, name)}${hint}` };
}

/** What the readers of those directives need: they read neither files nor variables. */
function readScope(name: string): { readonly scope: ReadScope; readonly report: Report } {
  const report = new Report();
  const refuse = (): never => {
    throw new Error(`"${name}" has neither variables nor files`);
  };
  const source = { name, text: '' };
  const scope: ReadScope = {
    directive: name,
    span: { source, start: 0, end: 0 },
    report,
    confDir: '/',
    prefix: '/',
    complexValue: refuse,
    nth: 0,
    block: { context: 'location', args: undefined },
    defineVariable: refuse,
  };
  return { scope, report };
}

/** A word from the database is treated as one that must not be printed. */
function wordOf(value: string, { span }: ReadScope): Word {
  return { value, quote: '"', span, secret: true, literals: [[0, value.length]] };
}

/** The readers name the directive in several ways; the message about a setting begins with its name. */
function withoutName(message: string, name: string): string {
  return message
    .replace(` in "${name}" directive`, '')
    .replace(`"${name}" directive `, '')
    .replace(`"${name}" `, '');
}
