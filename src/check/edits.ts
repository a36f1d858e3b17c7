import {
  type DirectiveNode,
  type Fix,
  lineOf,
  type Source,
  type TextEdit,
  type Word,
} from '../../grammar/index.ts';
import type { Finding } from './rule.ts';

export { removed } from '../../grammar/index.ts';

/** A word with more text at its end, inside its quotes. */
export function lengthened({ span, quote }: Word, text: string): TextEdit {
  const at = span.end - quote.length;
  return { span: { ...span, start: at, end: at }, text };
}

/** A word as it must be written to mean `value`. */
export function rewritten({ span, quote }: Word, value: string): TextEdit {
  const mark = quote === '' && /[\s;{}#"']|^$/.test(value) ? '"' : quote;
  const escaped = mark === '' ? value : value.replaceAll(mark, `\\${mark}`);
  return { span, text: `${mark}${escaped}${mark}` };
}

/** A line more behind a directive, as far to the right as it; on its line where other directives stand there, too. */
export function lineBehind({ span }: DirectiveNode, text: string): TextEdit {
  const { source, end } = span;
  return { span: { source, start: end, end }, text: `${breakAt(span)}${text}` };
}

/** A line more in front of a directive, as far to the right as it; on its line where something stands before it. */
export function lineBefore({ span }: DirectiveNode, text: string): TextEdit {
  const { source, start } = span;
  return { span: { source, start, end: start }, text: `${text}${breakAt(span)}` };
}

/** What stands between a directive and one that is added beside it. */
function breakAt({ source, start }: DirectiveNode['span']): string {
  const { start: line } = lineOf({ source, start, end: start });
  const before = source.text.slice(line, start);
  return /^[ \t]*$/.test(before) ? `\n${before}` : ' ';
}

/** A finding that can be mended. */
export type Mendable = Finding & { readonly fix: Fix };

/** As many of the findings as can be mended at once: no two of their edits meet. */
export function mendableAtOnce(findings: readonly Mendable[]): readonly Mendable[] {
  const taken = new Map<Source, TextEdit[]>();
  return findings.filter(({ fix }) => {
    if (fix.edits.some((edit) => taken.get(edit.span.source)?.some((other) => meet(edit, other))))
      return false;
    for (const edit of fix.edits) {
      const edits = taken.get(edit.span.source) ?? [];
      taken.set(edit.span.source, edits);
      edits.push(edit);
    }
    return true;
  });
}

/** Two insertions at one place meet as well: which one comes first is for the next round. */
function meet({ span: a }: TextEdit, { span: b }: TextEdit): boolean {
  return (
    (a.start < b.end && b.start < a.end) || a.start === b.start || a.end === b.start || b.end === a.start
  );
}

/** The texts of the sources after the edits of these findings. Line ends are those of the source. */
export function mended(findings: readonly Mendable[]): ReadonlyMap<Source, string> {
  const bySource = new Map<Source, TextEdit[]>();
  for (const edit of findings.flatMap(({ fix }) => fix.edits)) {
    const edits = bySource.get(edit.span.source) ?? [];
    bySource.set(edit.span.source, edits);
    edits.push(edit);
  }
  return new Map([...bySource].map(([source, edits]) => [source, edited(source, edits)]));
}

function edited({ text }: Source, edits: readonly TextEdit[]): string {
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  const inOrder = edits.toSorted((a, b) => a.span.start - b.span.start);
  let done = '';
  let position = 0;
  for (const { span, text: replacement } of inOrder) {
    done += text.slice(position, span.start) + replacement.replace(/\r?\n/g, lineEnd);
    position = span.end;
  }
  return done + text.slice(position);
}
