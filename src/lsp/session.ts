import { indentAt, type Piece } from '../../grammar/index.ts';
import type { VariableFacts } from '../lookups.ts';
import type { Diagnostics } from './diagnostics.ts';
import type { Files, TextFile } from './files.ts';
import type { NameIndex } from './name-index.ts';
import type { BlockKind } from './walk.ts';
import type { Workspace } from './workspace.ts';

/** What an answer is made from. */
export interface Session {
  readonly files: Files;
  readonly workspace: Workspace;
  readonly names: NameIndex;
  readonly diagnostics: Diagnostics;
  /** Built-in variables by name; families as `arg_*`. */
  readonly variables: ReadonlyMap<string, VariableFacts>;
  /** The client fills in snippets. */
  readonly snippets: boolean;
}

/** A place in a text that is asked about. */
export interface TextPosition {
  readonly file: TextFile;
  readonly offset: number;
}

/** What is written around a place in a text that may be broken. */
export interface Cursor extends TextPosition {
  /** The words in front of the `{` of the blocks around it, outermost first. */
  readonly blocks: readonly (readonly Piece[])[];
  /** The words of the directive before the one at the cursor; none: the cursor is where its name stands. */
  readonly words: readonly Piece[];
  /** The word at the cursor; empty where none is. */
  readonly start: number;
  readonly end: number;
  /** What of that word stands before the cursor. */
  readonly typed: string;
}

/**
 * Looks at the pieces before an offset only, so that nothing behind it, finished or not, is in the way. `undefined` in a
 * comment.
 */
export function cursorAt(
  { file, offset }: TextPosition,
  knownDirective: (name: string) => boolean,
): Cursor | undefined {
  const blocks: Piece[][] = [];
  let words: Piece[] = [];
  let current: Piece | undefined;
  for (const piece of file.pieces) {
    if (piece.start >= offset) break;
    const touches = offset <= piece.start + piece.image.length;
    if (piece.kind === 'comment') {
      if (touches || endsLine(file, piece, offset)) return undefined;
    } else if (piece.kind === 'word') {
      if (touches) current = piece;
      else words.push(piece);
    } else {
      if (piece.kind === '{') blocks.push(words);
      else if (piece.kind === '}') blocks.pop();
      words = [];
    }
  }
  const start = current?.start ?? offset;
  const end = current ? current.start + current.image.length : offset;
  const typed = file.source.text.slice(start, offset);
  return { file, offset, blocks, words: ownWords({ file, words, start, knownDirective }), start, end, typed };
}

interface CutWords {
  readonly file: TextFile;
  readonly words: readonly Piece[];
  readonly start: number;
  readonly knownDirective: (name: string) => boolean;
}

/** Without the words of directives that lack their `;`: a new line that is not indented deeper is a new directive. */
function ownWords({ file, words, start, knownDirective }: CutWords): readonly Piece[] {
  const [first] = words;
  if (!first) return words;
  const { text } = file.source;
  const limit = indentAt(text, first.start) ?? Infinity;
  const startsLine = (at: number): boolean => (indentAt(text, at) ?? Infinity) <= limit && limit !== Infinity;
  if (startsLine(start) && text.slice(first.start, start).includes('\n')) return [];
  const last = words.findLastIndex(
    ({ start: at, quoted, value }, index) => index > 0 && !quoted && startsLine(at) && knownDirective(value),
  );
  return last < 0 ? words : words.slice(last);
}

/** A comment is a piece without the blanks at its end. */
function endsLine({ source }: TextFile, { start, image }: Piece, offset: number): boolean {
  return /^[^\n]*$/.test(source.text.slice(start + image.length, offset));
}

/** What the cursor may be in; a file may be included in several places. */
export function blockKindsAt({ blocks, file }: Cursor, workspace: Workspace): readonly BlockKind[] {
  return workspace.blockKindsInside(file, namesOf(blocks));
}

/** The server block of this file that the cursor is in, as occurrences name it; `undefined` when it is in none. */
export function serverAt({ blocks, file }: Cursor, workspace: Workspace): string | undefined {
  const names = namesOf(blocks);
  const opener = blocks.findLast((_, index) =>
    workspace.blockKindsInside(file, names.slice(0, index + 1)).includes('server'),
  );
  return opener?.[0] && `${file.path}:${opener[0].start}`;
}

function namesOf(blocks: Cursor['blocks']): readonly string[] {
  return blocks.map(([opener]) => opener?.value ?? '');
}
