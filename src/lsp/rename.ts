import { ErrorCodes, ResponseError } from 'vscode-languageserver/node';
import type { Range, TextEdit, WorkspaceEdit } from 'vscode-languageserver/node';
import { builtInNamed } from './built-in.ts';
import type { Occurrence } from './names.ts';
import { rangeOf } from './places.ts';
import type { At, Session } from './session.ts';

/** The name that would be renamed; refuses what is no name of this configuration. */
export function prepareRename({ file, offset }: At, session: Session): Range {
  return rangeOf(renamable({ file, offset }, session)[0].span);
}

/** Renames everything that has this name, in all files of the configuration. */
export function rename(at: At, newName: string, session: Session): WorkspaceEdit {
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

function renamable(at: At, session: Session): readonly [Occurrence, ...Occurrence[]] {
  const [first, ...others] = session.names.at(at.file, at.offset);
  if (!first) throw refusal('there is no name here that the configuration defines');
  if (first.kind === 'variable' && builtInNamed(first.name, session.variables))
    throw refusal(`"$${first.name}" is a variable of gw`);
  return [first, ...others];
}

function refusal(message: string): ResponseError<void> {
  return new ResponseError(ErrorCodes.InvalidRequest, message);
}
