import { isObject } from '../json.ts';

/** Where in a token's claims the role stands: member names and array positions. */
export type RolePath = readonly (string | number)[];

const STEP = /\.(?:"((?:[^"\\]|\\.)*)"|([\p{L}\p{N}_$@-]+))|\[(\d{1,6})\]/uy;

/** `role`, or a path such as `.app."https://x/roles"[0]`; `undefined` when it is neither. */
export function readRolePath(text: string): RolePath | undefined {
  if (text === '') return undefined;
  if (!/^[.[]/.test(text)) return [text];
  const path: (string | number)[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const [, quoted, name, position] = STEP.exec(text) ?? [];
    if (position !== undefined) path.push(Number(position));
    else if (quoted !== undefined) path.push(quoted.replace(/\\(.)/gs, '$1'));
    else if (name !== undefined) path.push(name);
    else return undefined;
  }
  return path;
}

/** What stands at a path; `undefined` when there is nothing. Only own members count. */
export function claimAt(claims: unknown, path: RolePath): unknown {
  let found = claims;
  for (const step of path) {
    const fits = typeof step === 'number' ? Array.isArray(found) : isObject(found);
    if (!fits || !Object.hasOwn(found as object, step)) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}
