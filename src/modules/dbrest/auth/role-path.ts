import { isObject } from '../json.ts';

/** How the texts of an array are searched for the role. */
const COMPARISONS = {
  '==': (text: string, word: string) => text === word,
  '!=': (text: string, word: string) => text !== word,
  '^==': (text: string, word: string) => text.startsWith(word),
  '==^': (text: string, word: string) => text.endsWith(word),
  '*==': (text: string, word: string) => text.includes(word),
};

/** The first text of an array that compares so with `word`. */
interface RoleFilter {
  readonly comparison: keyof typeof COMPARISONS;
  readonly word: string;
}

/** Where in a token's claims the role stands: member names, array positions, at the end perhaps a filter. */
export type RolePath = readonly (string | number | RoleFilter)[];

const TEXT = String.raw`"((?:[^"\\]|\\.)*)"`;
const STEP = new RegExp(
  String.raw`\.(?:${TEXT}|([\p{L}\p{N}_$@-]+))|\[(\d{1,6})\]|\[\?\(@ *(==\^|[*^]==|[!=]=) *${TEXT}\)\]$`,
  'suy',
);

/**
 * `role`, or a path such as `.app."https://x/roles"[0]` or `.roles[?(@ ^== "app_")]` (PostgREST, `jwt-role-claim-key`);
 * `undefined` when it is neither.
 */
export function readRolePath(text: string): RolePath | undefined {
  if (text === '') return undefined;
  if (!/^[.[]/.test(text)) return [text];
  const path: RolePath[number][] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const [, quoted, name, position, comparison, word = ''] = STEP.exec(text) ?? [];
    if (position !== undefined) path.push(Number(position));
    else if (quoted !== undefined) path.push(unescaped(quoted));
    else if (name !== undefined) path.push(name);
    else if (comparison !== undefined) path.push({ comparison, word: unescaped(word) } as RoleFilter);
    else return undefined;
  }
  return path;
}

/** What stands at a path; `undefined` when there is nothing. Only own members count. */
export function claimAt(claims: unknown, path: RolePath): unknown {
  let found = claims;
  for (const step of path) {
    if (typeof step === 'object') return filtered(found, step);
    const fits = typeof step === 'number' ? Array.isArray(found) : isObject(found);
    if (!fits || !Object.hasOwn(found as object, step)) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}

function unescaped(quoted: string): string {
  return quoted.replace(/\\(.)/gs, '$1');
}

function filtered(list: unknown, { comparison, word }: RoleFilter): string | undefined {
  if (!Array.isArray(list)) return undefined;
  const fits = COMPARISONS[comparison];
  return list.find((one): one is string => typeof one === 'string' && fits(one, word));
}
