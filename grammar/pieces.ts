import { Lexer } from 'chevrotain';
import type { IToken, TokenType } from 'chevrotain';
import { Report } from './diagnostic.ts';
import type { Source } from './source.ts';
import { BlockEnd, BlockStart, LuaBlock, Semicolon, tokenTypes } from './tokens.ts';
import { readWord } from './words.ts';

/** One piece of a configuration's text, comments included. */
export interface Piece {
  readonly kind: 'word' | 'comment' | ';' | '{' | '}' | 'lua';
  /** As it is written, quotes and `#` included. */
  readonly image: string;
  readonly start: number;
  /** What a word means after unquoting; else the image. */
  readonly value: string;
  /** The word was written in quotes. */
  readonly quoted: boolean;
}

const KINDS = new Map<TokenType, Piece['kind']>([
  [Semicolon, ';'],
  [BlockStart, '{'],
  [BlockEnd, '}'],
  [LuaBlock, 'lua'],
]);

let lexer: Lexer | undefined;

/** The pieces of one text in their order. It must be a text that parses: faults of words are not reported here. */
export function piecesOf(source: Source): readonly Piece[] {
  lexer ??= new Lexer(tokenTypes, { positionTracking: 'onlyOffset', skipValidations: true });
  const { tokens, groups } = lexer.tokenize(source.text);
  const comments = (groups['comments'] ?? []).map(commentPiece);
  if (comments.length === 0) return tokens.map((token) => pieceOf(token, source));
  return [...tokens.map((token) => pieceOf(token, source)), ...comments].sort((a, b) => a.start - b.start);
}

function commentPiece({ image, startOffset: start }: IToken): Piece {
  const text = image.trimEnd();
  return { kind: 'comment', image: text, start, value: text, quoted: false };
}

function pieceOf(token: IToken, source: Source): Piece {
  const { image, startOffset: start, tokenType } = token;
  const kind = KINDS.get(tokenType);
  if (kind) return { kind, image, start, value: image, quoted: false };
  const { value, quote } = readWord(token, source, new Report());
  return { kind: 'word', image, start, value, quoted: quote !== '' };
}
