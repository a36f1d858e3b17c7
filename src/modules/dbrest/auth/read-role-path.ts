import { readJsonPath } from './json-path.ts';
import type { Comparison, RolePath, RoleStep } from './role-path.ts';

const LONGEST_PATH = 1_024;

const TEXT = String.raw`"((?:[^"\\]|\\.)*)"`;
const STEP = new RegExp(
  String.raw`\.(?:${TEXT}|([\p{L}\p{N}_$@-]+))|\[(\d{1,6})\]|\[\?\(@ *(==\^|[*^]==|[!=]=) *${TEXT}\)\]$`,
  'suy',
);

/**
 * Parses a name such as `role`, a path such as `.app."https://x/roles"[0]` or `.roles[?(@ ^== "app_")]` (PostgREST,
 * `jwt-role-claim-key`), or a JSONPath such as `$.roles[?@ == 'author']` (RFC 9535).
 */
export function readRolePath(text: string): RolePath | { readonly fault: string } {
  if (text === '') return { fault: 'it is empty' };
  if (text.length > LONGEST_PATH) return { fault: `it is longer than ${LONGEST_PATH} characters` };
  if (text.startsWith('$')) return readJsonPath(text);
  if (!/^[.[]/.test(text)) return [text];
  const path: RoleStep[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const from = STEP.lastIndex;
    const [, quoted, name, index, comparison, literal = ''] = STEP.exec(text) ?? [];
    if (index !== undefined) path.push(Number(index));
    else if (quoted !== undefined) path.push(unescaped(quoted));
    else if (name !== undefined) path.push(name);
    else if (comparison !== undefined) {
      const test = { comparison: comparison as Comparison, literal: unescaped(literal) };
      path.push({ kind: 'filter', of: [], test, textsOnly: true });
    } else return { fault: `malformed at character ${from + 1}` };
  }
  return path;
}

function unescaped(quoted: string): string {
  return quoted.replace(/\\(.)/gs, '$1');
}
