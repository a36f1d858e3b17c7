import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type DocumentHighlight,
  DocumentHighlightKind,
  type DocumentLink,
  ErrorCodes,
  type Location,
  type Range,
  ResponseError,
  type TextEdit,
  type WorkspaceEdit,
} from 'vscode-languageserver/node';
import type { Word } from '../../../grammar/index.ts';
import { rolesOf } from '../../config/index.ts';
import { rangeOf, type TextFile } from './files.ts';
import { builtInNamed, definitionsOf, type Occurrence } from './name-index.ts';
import type { TextPosition, Session } from './session.ts';
import { includedBy, type PlacedDirective, type Root } from './walk.ts';

/** The definitions of the name at a position; for an `include` or another path, the files. */
export function definition(at: TextPosition, session: Session): readonly Location[] {
  const { names } = session;
  const found = names.at(at.file, at.offset);
  if (found.length > 0)
    return definitionsOf(names.same(at.file, found)).map((one) => locationOf(one, session));
  return pathsIn(at.file, session)
    .filter(({ word }) => word.span.start <= at.offset && at.offset <= word.span.end)
    .flatMap(({ paths }) => paths)
    .map((path) => ({ uri: session.files.uriOf(path), range: START }));
}

/** All occurrences of the name at a position. */
export function references(
  at: TextPosition,
  session: Session,
  withDefinitions: boolean,
): readonly Location[] {
  const { names } = session;
  return names
    .same(at.file, names.at(at.file, at.offset))
    .filter((one) => withDefinitions || one.as !== 'definition')
    .map((one) => locationOf(one, session));
}

/** The occurrences of the name at a position in the same file. */
export function highlights(at: TextPosition, { names }: Session): readonly DocumentHighlight[] {
  return names
    .same(at.file, names.at(at.file, at.offset))
    .filter((one) => one.file.path === at.file.path)
    .map(({ as, span }) => ({
      range: rangeOf(span),
      kind: as === 'definition' ? DocumentHighlightKind.Write : DocumentHighlightKind.Read,
    }));
}

/** Links for the words of a file that name existing files or directories. */
export function links(file: TextFile, session: Session): readonly DocumentLink[] {
  return pathsIn(file, session).flatMap(({ paths: [path, ...others], word }) =>
    path === undefined || others.length > 0
      ? []
      : { range: rangeOf(inside(word)), target: session.files.uriOf(path), tooltip: path },
  );
}

const START = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

function locationOf({ file, span }: Occurrence, { files }: Session): Location {
  return { uri: files.uriOf(file.path), range: rangeOf(span) };
}

interface PathWord {
  readonly word: Word;
  readonly paths: readonly string[];
}

/** The words of a file that are paths, with their files, each once even if several roots include the file. */
function pathsIn(file: TextFile, { workspace }: Session): readonly PathWord[] {
  const found = new Map<number, PathWord>();
  for (const root of workspace.rootsOf(file)) {
    const prefix = workspace.prefixOf(root);
    workspace.walk(root, (placed) => {
      if (placed.file.path !== file.path) return;
      for (const leading of pathsOf(placed, root, prefix)) found.set(leading.word.span.start, leading);
    });
  }
  return [...found.values()];
}

function pathsOf(placed: PlacedDirective, root: Root, prefix: string): readonly PathWord[] {
  const { node } = placed;
  const [word] = node.args;
  if (node.name.value === 'include' && word) {
    const paths = includedBy(node, root.confDir).filter(isFile);
    return paths.length > 0 ? [{ word, paths }] : [];
  }
  return rolesOf(placed.entry?.row, placed.node.args).flatMap(({ role, word: path }) => {
    if (role.kind !== 'path' || path.value === '' || path.value.includes('$')) return [];
    const absolute = resolve(role.from === 'confDir' ? root.confDir : prefix, path.value);
    return existsSync(absolute) ? [{ word: path, paths: [absolute] }] : [];
  });
}

function inside({ quote, span }: Word): Word['span'] {
  return { ...span, start: span.start + quote.length, end: span.end - quote.length };
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** The range of the name at a position; refuses anything that the configuration does not define. */
export function prepareRename({ file, offset }: TextPosition, session: Session): Range {
  return rangeOf(renamable({ file, offset }, session)[0].span);
}

/** The edit that renames a name in all files of the configuration. */
export function rename(at: TextPosition, newName: string, session: Session): WorkspaceEdit {
  const found = renamable(at, session);
  const [{ kind }] = found;
  const name = newName.replace(kind === 'variable' ? /^\$/ : kind === 'named location' ? /^@/ : /^/, '');
  const isName = kind === 'variable' ? /^[A-Za-z_]\w*$/ : /^[^\s;{}"'\\$:/?#=]+$/;
  if (!isName.test(name)) throw refusal(`"${newName}" is not a name`);
  if (kind === 'variable' && builtInNamed(name, session.variables))
    throw refusal(`"$${name}" is a variable of gw`);
  const isTaken = session.names.defined(at.file, kind, found[0].scope).some((one) => one.name === name);
  if (isTaken && name !== found[0].name) throw refusal(`another ${kind} is named "${name}"`);
  const changes: Record<string, TextEdit[]> = {};
  for (const { file, span } of session.names.same(at.file, found)) {
    const uri = session.files.uriOf(file.path);
    changes[uri] = [...(changes[uri] ?? []), { range: rangeOf(span), newText: name }];
  }
  return { changes };
}

function renamable(at: TextPosition, session: Session): readonly [Occurrence, ...Occurrence[]] {
  const [first, ...others] = session.names.at(at.file, at.offset);
  if (!first) throw refusal('there is no name here that the configuration defines');
  if (first.kind === 'variable' && builtInNamed(first.name, session.variables))
    throw refusal(`"$${first.name}" is a variable of gw`);
  return [first, ...others];
}

function refusal(message: string): ResponseError<void> {
  return new ResponseError(ErrorCodes.InvalidRequest, message);
}
