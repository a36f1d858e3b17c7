import {
  type CodeAction,
  CodeActionKind,
  type Diagnostic,
  type Range,
  type TextEdit,
  type WorkspaceEdit,
} from 'vscode-languageserver/node';
import { type Fix, lineOf } from '../../grammar/index.ts';
import type { Finding } from '../pipeline.ts';
import { rangeOf, type TextFile } from './files.ts';
import type { Session } from './session.ts';

/** What is asked: which stretch of which file, and which kinds of actions. */
export interface ActionsRequest {
  readonly file: TextFile;
  readonly range: Range;
  readonly diagnostics: readonly Diagnostic[];
  readonly only: readonly string[] | undefined;
}

/** Fixes of what was found in a stretch, ways to silence it, and all safe fixes of the file at once. */
export function codeActions(asked: ActionsRequest, session: Session): readonly CodeAction[] {
  const { file, only, range } = asked;
  const wants = (kind: string): boolean =>
    only === undefined || only.some((one) => `${kind}.`.startsWith(`${one}.`));
  // A finding counts only as long as its text is the one on the screen.
  const findings = session.diagnostics
    .in(file.path)
    .filter(({ span }) => span?.source.text === file.source.text);
  const here = findings.filter(({ span }) => span && overlaps(rangeOf(span), range));
  return [
    ...(wants(CodeActionKind.QuickFix) ? here.flatMap((finding) => quickFixes(finding, asked, session)) : []),
    ...(wants(CodeActionKind.SourceFixAll) ? fixAll(findings, session) : []),
  ];
}

function quickFixes(
  finding: Finding,
  { diagnostics, file }: ActionsRequest,
  session: Session,
): readonly CodeAction[] {
  const shown = diagnostics.filter(({ code, range }) => code === finding.rule && isSameStart(range, finding));
  const fixes = [finding.fix ?? replacementOf(finding)].flatMap((fix) => {
    const edit = fix && editOf(fix, session);
    if (!edit) return [];
    // What an editor may take without asking: it changes no answer, or there is none to change.
    const isPreferred = fix.safe || finding.refuses === true;
    return { title: fix.title, kind: CodeActionKind.QuickFix, diagnostics: shown, isPreferred, edit };
  });
  return [...fixes, ...ignoring(finding, { shown, file })];
}

/** `did you mean "x"?` where the finding brings no fix of its own. */
function replacementOf({ hint = '', message, span }: Finding): Fix | undefined {
  const meant = /^did you mean "([^"]+)"\?$/.exec(hint)?.[1];
  const written = /"([^"]+)"/.exec(message)?.[1];
  if (meant === undefined || written === undefined || !span) return undefined;
  const at = span.source.text.slice(span.start, span.end).indexOf(written);
  if (at < 0) return undefined;
  const start = span.start + at;
  // Messages name variables without their `$`, hints with it.
  const text = meant.startsWith('$') && !written.startsWith('$') ? meant.slice(1) : meant;
  const edit = { span: { source: span.source, start, end: start + written.length }, text };
  return { title: `replace by "${meant}"`, safe: false, edits: [edit] };
}

/** A comment in the line above that silences the rule here; the reason is left to be written. */
function ignoring(
  { refuses, rule, span }: Finding,
  { shown, file }: { shown: Diagnostic[]; file: TextFile },
): readonly CodeAction[] {
  // What does not load cannot be ignored.
  if (!span || refuses) return [];
  const { start } = lineOf(span);
  const indent = /^[ \t]*/.exec(span.source.text.slice(start))?.[0] ?? '';
  const at = rangeOf({ source: span.source, start, end: start });
  const edits: TextEdit[] = [{ range: at, newText: `${indent}# gw-ignore ${rule}: reason\n` }];
  const kind = CodeActionKind.QuickFix;
  return [
    {
      title: `ignore ${rule} here, with a reason`,
      kind,
      diagnostics: shown,
      edit: { changes: { [file.uri]: edits } },
    },
  ];
}

/** The safe fixes of a file that do not touch the same text. */
function fixAll(findings: readonly Finding[], session: Session): readonly CodeAction[] {
  const taken: { readonly start: number; readonly end: number; readonly name: string }[] = [];
  const edits = findings.flatMap(({ fix }) => {
    if (!fix?.safe) return [];
    const spans = fix.edits.map(({ span: { source, start, end } }) => ({ name: source.name, start, end }));
    const clashes = spans.some((one) =>
      taken.some((other) => one.name === other.name && one.start <= other.end && other.start <= one.end),
    );
    if (clashes) return [];
    taken.push(...spans);
    return fix.edits;
  });
  const edit = editOf({ title: '', safe: true, edits }, session);
  return edit && edits.length > 0
    ? [{ title: 'apply all safe fixes', kind: CodeActionKind.SourceFixAll, edit }]
    : [];
}

/** `undefined` when one of the texts is no longer the one that was checked. */
function editOf({ edits }: Fix, { files }: Session): WorkspaceEdit | undefined {
  const changes: Record<string, TextEdit[]> = {};
  for (const { span, text } of edits) {
    const file = files.at(span.source.name);
    if (file?.source.text !== span.source.text) return undefined;
    changes[file.uri] = [...(changes[file.uri] ?? []), { range: rangeOf(span), newText: text }];
  }
  return { changes };
}

function isSameStart({ start }: Range, { span }: Finding): boolean {
  const at = span && rangeOf(span).start;
  return at?.line === start.line && at.character === start.character;
}

function overlaps(one: Range, other: Range): boolean {
  return !isBefore(one.end, other.start) && !isBefore(other.end, one.start);
}

function isBefore(one: Range['start'], other: Range['start']): boolean {
  return one.line < other.line || (one.line === other.line && one.character < other.character);
}
