import { indentAt, type Piece } from '../../../grammar/index.ts';
import type { VariableFacts } from '../lookups.ts';
import type { Diagnostics } from './diagnostics.ts';
import type { Files, TextFile } from './files.ts';
import type { NameIndex } from './name-index.ts';
import type { BlockKind } from './walk.ts';
import type { Workspace } from './workspace.ts';

/** The state that responses are computed from. */
export interface Session {
  readonly files: Files;
  readonly workspace: Workspace;
  readonly names: NameIndex;
  readonly diagnostics: Diagnostics;
  /** Built-in variables by name; families have names such as `arg_*`. */
  readonly variables: ReadonlyMap<string, VariableFacts>;
  /** True if the client supports snippets. */
  readonly snippets: boolean;
}

/** A position in a text. */
export interface TextPosition {
  readonly file: TextFile;
  readonly offset: number;
}

/** The syntax around a position in a text that may have faults. */
export interface Cursor extends TextPosition {
  /** For each enclosing block, outermost first, the words before its `{`. */
  readonly blocks: readonly (readonly Piece[])[];
  /** The words of the directive before the cursor; empty if the cursor is at its name. */
  readonly words: readonly Piece[];
  /** The offsets of the word at the cursor; equal if there is none. */
  readonly start: number;
  readonly end: number;
  /** The part of the word before the cursor. */
  readonly typed: string;
}

/**
 * The cursor at an offset; `undefined` in a comment. Only the text before the offset is read, so unfinished text after
 * it does no harm.
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

/**
 * The words without those of preceding directives that lack their `;`: a line that is not indented deeper starts a new
 * directive.
 */
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

/** True if only blanks separate the offset from the end of a comment. */
function endsLine({ source }: TextFile, { start, image }: Piece, offset: number): boolean {
  return /^[^\n]*$/.test(source.text.slice(start + image.length, offset));
}

/** The kinds of blocks that the cursor may be in; a file may be included several times. */
export function blockKindsAt({ blocks, file }: Cursor, workspace: Workspace): readonly BlockKind[] {
  return workspace.blockKindsInside(file, namesOf(blocks));
}

/** The id of the server block around the cursor, as in occurrences; `undefined` if there is none in this file. */
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
