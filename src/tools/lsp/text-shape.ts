import {
  type FoldingRange,
  FoldingRangeKind,
  type FormattingOptions,
  type TextEdit,
} from 'vscode-languageserver/node';
import { checkSyntax, formatConfig, type Piece } from '../../../grammar/index.ts';
import { rangeOf, type TextFile } from './files.ts';

/** The foldable ranges: blocks and runs of comment lines. */
export function foldingRanges(file: TextFile): readonly FoldingRange[] {
  const lineOf = (offset: number): number =>
    rangeOf({ source: file.source, start: offset, end: offset }).start.line;
  const ranges: FoldingRange[] = [];
  const open: number[] = [];
  for (const { kind, start } of file.pieces) {
    if (kind === '{') open.push(lineOf(start));
    else if (kind === '}') {
      const startLine = open.pop();
      // The line of the closing brace stays visible.
      const endLine = lineOf(start) - 1;
      if (startLine !== undefined && endLine > startLine) ranges.push({ startLine, endLine });
    }
  }
  return [...ranges, ...commentRuns(file.pieces, lineOf)];
}

/** The edit that formats a file, from the first to the last line that changes. Empty if the text does not parse. */
export function formatted({ source }: TextFile, options: FormattingOptions): readonly TextEdit[] {
  if (checkSyntax(source).failed) return [];
  const indent = options.insertSpaces ? ' '.repeat(options.tabSize) : '\t';
  const text = formatConfig(source, { indent });
  if (text === source.text) return [];
  const { start, oldEnd, newEnd } = difference(source.text, text);
  return [{ range: rangeOf({ source, start, end: oldEnd }), newText: text.slice(start, newEnd) }];
}

/** The difference of two texts, without the equal text at both ends. */
function difference(before: string, after: string): { start: number; oldEnd: number; newEnd: number } {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  start = before.lastIndexOf('\n', start - 1) + 1;
  let same = 0;
  while (same < shorter - start && before[before.length - 1 - same] === after[after.length - 1 - same])
    same++;
  // Moved to a line end, so that no line is split.
  const lineEnd = before.indexOf('\n', before.length - same);
  const kept = lineEnd < 0 ? 0 : before.length - lineEnd - 1;
  return { start, oldEnd: before.length - kept, newEnd: after.length - kept };
}

function commentRuns(pieces: readonly Piece[], lineOf: (offset: number) => number): readonly FoldingRange[] {
  const ranges: FoldingRange[] = [];
  let first: number | undefined;
  let last = -2;
  for (const piece of [...pieces, undefined]) {
    const line = piece && lineOf(piece.start);
    if (piece?.kind === 'comment' && line === last + 1) {
      last = line;
      continue;
    }
    if (first !== undefined && last > first)
      ranges.push({ startLine: first, endLine: last, kind: FoldingRangeKind.Comment });
    first = piece?.kind === 'comment' ? line : undefined;
    last = piece?.kind === 'comment' ? (line ?? -2) : -2;
  }
  return ranges;
}
