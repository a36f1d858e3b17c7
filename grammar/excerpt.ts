import { lineOf } from './source.ts';
import type { Source, Span } from './source.ts';
import { cellOf } from './terminal.ts';

/** A longer line is clipped around the caret. */
const MAX_CHARACTERS = 100;

/** How much of a clipped line stays before the caret. */
const MAX_BEFORE_CARET = 40;

const CLIPPED = '...';

/** The source line of a span and the carets below it, both ready for a terminal; the first line of a long span. */
export function excerptOf(span: Span, hidden: readonly Span[] = []): { text: string; caret: string } {
  const line = lineOf(span);
  const text = withoutSecrets(span.source, line, hidden);
  const isLong = line.end - line.start > MAX_CHARACTERS;
  const from = isLong ? whole(text, Math.max(line.start, span.start - MAX_BEFORE_CARET)) : line.start;
  const to = isLong ? whole(text, Math.min(line.end, from + MAX_CHARACTERS)) : line.end;
  const before = show(text.slice(from, Math.min(span.start, to)), from > line.start ? CLIPPED : '');
  const marked = show(
    text.slice(Math.min(span.start, to), Math.min(span.end, to)),
    before.text,
    before.width,
  );
  const after = show(text.slice(Math.min(Math.max(span.start, span.end), to), to), marked.text, marked.width);
  return {
    text: (to < line.end ? after.text + CLIPPED : after.text).trimEnd(),
    caret: ' '.repeat(before.width) + '^'.repeat(Math.max(1, marked.width - before.width)),
  };
}

/** The source with asterisks for what is hidden in one of its lines; every offset stays where it is. */
function withoutSecrets(source: Source, line: Pick<Span, 'start' | 'end'>, hidden: readonly Span[]): string {
  let { text } = source;
  for (const { source: of, start, end } of hidden) {
    const from = Math.max(start, line.start);
    const to = Math.min(end, line.end);
    if (of === source && from < to) text = text.slice(0, from) + '*'.repeat(to - from) + text.slice(to);
  }
  return text;
}

function show(piece: string, shown: string, column = shown.length): { text: string; width: number } {
  let text = shown;
  let width = column;
  for (const character of piece) {
    const cell = cellOf(character, width);
    text += cell.shown;
    width += cell.width;
  }
  return { text, width };
}

/** The offset, or the one before if it would cut a character in two. */
function whole(text: string, offset: number): number {
  return /[\uDC00-\uDFFF]/.test(text[offset] ?? '') && offset > 0 ? offset - 1 : offset;
}
