/** A piece of TypeScript that may be broken into lines. */
export type Layout =
  | string
  | { readonly kind: 'object'; readonly members: readonly Member[]; readonly isExpanded: boolean }
  /** Rows of a tuple type or of an array value. */
  | { readonly kind: 'list'; readonly items: readonly Layout[] }
  | { readonly kind: 'union'; readonly parts: readonly Layout[] }
  /** A type with arguments, and what follows it: `Omit<A, B>[]`. */
  | {
      readonly kind: 'generic';
      readonly name: string;
      readonly arguments: readonly string[];
      readonly suffix: string;
    }
  /** A text that follows a piece, such as `[]`. */
  | { readonly kind: 'suffixed'; readonly of: Layout; readonly suffix: string };

/** A member of an object. */
export interface Member {
  readonly key: string;
  readonly value: Layout;
}

const WIDTH = 80;

/** An object with one line for each member. */
export function block(members: readonly Member[]): Layout {
  return { kind: 'object', members, isExpanded: true };
}

/** An object in one line, if it fits. */
export function inline(members: readonly Member[]): Layout {
  return { kind: 'object', members, isExpanded: false };
}

/**
 * Prints a piece as prettier does without semicolons: in one line of 80 characters, otherwise broken from the outside.
 * `before`: the text in front of it on its line, which starts with its indentation.
 */
export function print(piece: Layout, before: string, indent: string): string {
  const flat = flatText(piece);
  if (flat !== undefined && before.length + flat.length <= WIDTH) return before + flat;
  if (typeof piece === 'string') return before + piece;
  switch (piece.kind) {
    case 'object':
      return `${before}{\n${members(piece.members, `${indent}  `)}${indent}}`;
    case 'list': {
      const items = piece.items.map((item) => `${print(item, `${indent}  `, `${indent}  `)},\n`);
      return `${before}[\n${items.join('')}${indent}]`;
    }
    case 'generic': {
      const lines = piece.arguments.map((one) => `${indent}  ${one}`);
      return `${before}${piece.name}<\n${lines.join(',\n')}\n${indent}>${piece.suffix}`;
    }
    case 'suffixed':
      return print(piece.of, before, indent) + piece.suffix;
    case 'union':
      return union(piece.parts, before, indent);
  }
}

function members(list: readonly Member[], indent: string): string {
  return list.map(({ key, value }) => `${member(key, value, indent)}\n`).join('');
}

function member(key: string, value: Layout, indent: string): string {
  return print(value, `${indent}${key}: `, indent);
}

/** An object or null stays beside its name; the parts of other unions get a line each. */
function union(parts: readonly Layout[], before: string, indent: string): string {
  const [first, second, ...others] = parts;
  const isObject = typeof first === 'object' && first.kind === 'object';
  if (isObject && second === 'null' && others.length === 0) return `${print(first, before, indent)} | null`;
  const inner = `${indent}  `;
  const lines = parts.map((part) => print(part, `${inner}| `, `${inner}  `));
  return `${before.trimEnd()}\n${lines.join('\n')}`;
}

/** The piece in one line; `undefined` if it must not be in one. */
function flatText(piece: Layout): string | undefined {
  if (typeof piece === 'string') return piece;
  switch (piece.kind) {
    case 'object': {
      if (piece.members.length === 0) return '{}';
      if (piece.isExpanded) return undefined;
      const parts = piece.members.map(({ key, value }) => joined([`${key}: `, value], ''));
      return wrapped(parts, ['{ ', '; ', ' }']);
    }
    case 'list':
      return wrapped(piece.items.map(flatText), ['[', ', ', ']']);
    case 'union':
      return wrapped(piece.parts.map(flatText), ['', ' | ', '']);
    case 'generic':
      return `${piece.name}<${piece.arguments.join(', ')}>${piece.suffix}`;
    case 'suffixed':
      return joined([piece.of, piece.suffix], '');
  }
}

function joined(pieces: readonly Layout[], between: string): string | undefined {
  return wrapped(pieces.map(flatText), ['', between, '']);
}

function wrapped(
  texts: readonly (string | undefined)[],
  [open, between, close]: readonly [string, string, string],
): string | undefined {
  return texts.includes(undefined) ? undefined : open + texts.join(between) + close;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** A text as a literal, with the quotes of which fewer need to be escaped. */
export function literal(text: string): string {
  const json = JSON.stringify(text);
  const count = (quote: string): number => text.split(quote).length - 1;
  if (count('"') <= count("'")) return json;
  return `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** The name of a member, quoted if necessary. */
export function memberName(name: string): string {
  return IDENTIFIER.test(name) ? name : literal(name);
}
