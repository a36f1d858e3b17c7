import {
  type CodeAction,
  CodeActionKind,
  type Diagnostic,
  type Range,
  type TextEdit,
  type WorkspaceEdit,
} from 'vscode-languageserver/node';
import { type Fix, lineOf } from '../../../grammar/index.ts';
import type { Finding } from '../../pipeline.ts';
import { rangeOf, type TextFile } from './files.ts';
import type { Session } from './session.ts';

/** A request for code actions: a range of a file, and the kinds of actions. */
interface ActionsRequest {
  readonly file: TextFile;
  readonly range: Range;
  readonly diagnostics: readonly Diagnostic[];
  readonly only: readonly string[] | undefined;
}

/** The code actions for a range: fixes of its findings, comments that ignore them, and all safe fixes of the file. */
export function codeActions(asked: ActionsRequest, session: Session): readonly CodeAction[] {
  const { file, only, range } = asked;
  const wants = (kind: string): boolean =>
    only === undefined || only.some((one) => `${kind}.`.startsWith(`${one}.`));
  // A finding is used only while its text is the one on the screen.
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
    // Editors may apply a preferred fix without asking. It changes no response, or nothing would load without it.
    const isPreferred = fix.safe || finding.refuses === true;
    return { title: fix.title, kind: CodeActionKind.QuickFix, diagnostics: shown, isPreferred, edit };
  });
  return [...fixes, ...ignoring(finding, { shown, file })];
}

/** The fix that `did you mean "x"?` suggests, if the finding has no fix of its own. */
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

/** The action that inserts an ignore comment above a finding; the author writes the reason. */
function ignoring(
  { refuses, rule, span }: Finding,
  { shown, file }: { shown: Diagnostic[]; file: TextFile },
): readonly CodeAction[] {
  // A finding that prevents loading cannot be ignored.
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

/** The action that applies all safe fixes of a file whose edits do not overlap. */
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

/** The edit of a fix; `undefined` if one of the texts has changed since the check. */
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
