import { lineOf } from './source.ts';
import type { Span } from './source.ts';
import { cellOf } from './terminal.ts';

/** A longer line is clipped around the caret. */
const MAX_CHARACTERS = 100;

/** How much of a clipped line stays before the caret. */
const MAX_BEFORE_CARET = 40;

const CLIPPED = '...';

/** The source line of a span and the carets below it, both ready for a terminal; the first line of a long span. */
export function excerptOf(span: Span): { text: string; caret: string } {
  const { text } = span.source;
  const line = lineOf(span);
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
