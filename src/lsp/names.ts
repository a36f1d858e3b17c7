import { spanInWord } from '../../grammar/index.ts';
import type { DirectiveNode, Span, Word } from '../../grammar/index.ts';
import type { NameKind, NameRole, WordRole } from '../config/index.ts';
import type { TextFile } from './files.ts';
import type { Placed } from './walk.ts';

/** One place where a name stands. */
export interface Occurrence {
  readonly kind: NameKind;
  /** As it is compared: variables have no case. */
  readonly name: string;
  readonly as: NameRole['as'];
  /** Of the name alone. */
  readonly span: Span;
  readonly file: TextFile;
  readonly node: DirectiveNode;
  /** The server that a named location belongs to; else ''. */
  readonly scope: string;
}

const VARIABLE = /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})/g;
/** `(?<name>…)`, `(?P<name>…)`, `(?'name'…)`. */
const CAPTURE = /\(\?P?[<']([A-Za-z_]\w*)[>']/g;

/** Every name that one directive has, at the place where it is written. */
export function occurrencesIn(placed: Placed): readonly Occurrence[] {
  const { node, file, server } = placed;
  const found: Occurrence[] = [];
  const add = (part: Pick<Occurrence, 'kind' | 'name' | 'as' | 'span'>): void => {
    if (found.some(({ span }) => span.start === part.span.start)) return;
    found.push({ ...part, file, node, scope: part.kind === 'named location' ? server : '' });
  };
  for (const { role, word } of rolesOf(placed)) {
    const span = role.kind === 'path' ? undefined : partOf(word, role);
    if (role.kind === 'path' || !span) continue;
    const name = span.source.text.slice(span.start, span.end);
    add({ kind: role.kind, name: role.kind === 'variable' ? name.toLowerCase() : name, as: role.as, span });
  }
  for (const { span } of [node.name, ...node.args]) {
    for (const capture of matches(span, CAPTURE)) add({ kind: 'variable', as: 'definition', ...capture });
    for (const variable of matches(span, VARIABLE)) add({ kind: 'variable', as: 'use', ...variable });
  }
  return found;
}

/** The roles of a directive, each with the words that have it. */
export function rolesOf({ node, entry }: Pick<Placed, 'node' | 'entry'>): readonly {
  readonly role: WordRole;
  readonly word: Word;
}[] {
  const { args } = node;
  return (entry?.row.roles ?? []).flatMap((role) => {
    const { word = 0 } = role;
    const words = word === 'any' ? args : args.slice(word === 'last' ? -1 : word).slice(0, 1);
    return words.map((each) => ({ role, word: each }));
  });
}

/** The part of a word that a role is about, where the word has such a part and no variable begins in it. */
function partOf(word: Word, { behind = [''], until = '' }: NameRole): Span | undefined {
  const before = behind.find((text) => word.value.startsWith(text));
  if (before === undefined) return undefined;
  const rest = word.value.slice(before.length);
  let end = 0;
  while (end < rest.length && rest[end] !== '$' && !until.includes(rest[end]!)) end++;
  if (rest[end] === '$' || end === 0) return undefined;
  return spanInWord(word, before.length, before.length + end);
}

function matches({ source, start, end }: Span, pattern: RegExp): readonly { name: string; span: Span }[] {
  return [...source.text.slice(start, end).matchAll(pattern)].map((match) => {
    const name = match[1] ?? match[2] ?? '';
    const from = start + match.index + match[0].indexOf(name);
    return { name: name.toLowerCase(), span: { source, start: from, end: from + name.length } };
  });
}
