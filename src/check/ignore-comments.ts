import { indentAt, lineOf, piecesOf } from '../../grammar/index.ts';
import type { Piece, Source, Span, TextEdit } from '../../grammar/index.ts';

/** A rule that somebody has decided to live with, where, and why: `# gw-ignore GW304: reason`. */
export interface Ignore {
  /** As written: ids, slugs and prefixes. */
  readonly rules: readonly string[];
  /** Empty when there is none; it then ignores nothing. */
  readonly reason: string;
  readonly span: Span;
  /** Where findings begin that it is about; absent: everywhere. */
  readonly covers?: Span;
  /** The text without it, or with fewer rules in it. */
  without(rules: readonly string[]): TextEdit;
}

const COMMENT = /^#\s*gw-ignore(-file)?(?![\w-])([^:]*)(?::\s*(.*\S))?/;

/** The comments of a source that ignore rules, in file order. */
export function ignoreComments(source: Source): readonly Ignore[] {
  // Most sources have none, and need not be read again.
  if (!source.text.includes('gw-ignore')) return [];
  const pieces = piecesOf(source);
  return pieces.flatMap((piece, index) => {
    const found = piece.kind === 'comment' ? COMMENT.exec(piece.image) : null;
    return found ? ignoreOf(found, { source, pieces, index }) : [];
  });
}

interface At {
  readonly source: Source;
  readonly pieces: readonly Piece[];
  readonly index: number;
}

function ignoreOf([, file, names = '', reason = '']: RegExpExecArray, at: At): Ignore {
  const { source, pieces, index } = at;
  const { start, image } = pieces[index] as Piece;
  const span = { source, start, end: start + image.length };
  const rules = names.split(/[\s,]+/).filter(Boolean);
  return {
    rules,
    reason,
    span,
    ...(file === undefined
      ? { covers: coveredBy(at) }
      : { covers: { source, start: 0, end: source.text.length } }),
    without: (gone) => {
      const left = rules.filter((rule) => !gone.includes(rule));
      return left.length === 0
        ? deletion(span)
        : { span, text: `# gw-ignore${file ?? ''} ${left.join(', ')}: ${reason}` };
    },
  };
}

/** A comment on a line of its own is about the statement that follows, another one about the statement in its line. */
function coveredBy({ source, pieces, index }: At): Span {
  const { start } = pieces[index] as Piece;
  const isAlone = indentAt(source.text, start) !== undefined;
  const step = isAlone ? 1 : -1;
  let last = index + step;
  while (isAlone && pieces[last]?.kind === 'comment') last++;
  const found = pieces[last];
  if (!found) return { source, start, end: start };
  if (isAlone) {
    const { start: from } = lineOf({ source, start: found.start, end: found.start });
    while (last + 1 < pieces.length && isInside(pieces[last] as Piece)) last++;
    return { source, start: from, end: lineOf({ source, ...rangeOf(pieces[last] as Piece) }).end };
  }
  const { start: lineStart } = lineOf({ source, start, end: start });
  let first = last;
  while (first > 0 && isInside(pieces[first - 1] as Piece)) first--;
  return { source, start: Math.min(lineStart, (pieces[first] as Piece).start), end: start };
}

/** The statement goes on behind it. */
function isInside({ kind }: Piece): boolean {
  return kind === 'word' || kind === 'comment';
}

function rangeOf({ start, image }: Piece): { start: number; end: number } {
  return { start: start + image.length - 1, end: start + image.length };
}

/** With its line where nothing else stands on it, else with the blanks before it. */
function deletion({ source, start, end }: Span): TextEdit {
  const indent = indentAt(source.text, start);
  if (indent !== undefined) {
    const lineEnd = source.text.indexOf('\n', end);
    return {
      span: { source, start: start - indent, end: lineEnd < 0 ? source.text.length : lineEnd + 1 },
      text: '',
    };
  }
  const before = /[ \t]*$/.exec(source.text.slice(0, start))?.[0].length ?? 0;
  return { span: { source, start: start - before, end }, text: '' };
}
