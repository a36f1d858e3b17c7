import { isObject } from '../json.ts';

/**
 * Returns the text of a claim: a string as it is, the elements of an array separated by commas, objects as JSON.
 * `undefined` for `null` and for what is absent.
 */
export function claimText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(elementText).join(',');
  return jsonOf(value);
}

const elementText = (value: unknown): string => (typeof value === 'string' ? value : jsonOf(value));

/** JSON in which integers keep all their digits. */
function jsonOf(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${jsonOf(member)}`);
  return `{${members.join(',')}}`;
}

/** Returns what a path of names and indexes leads to; `undefined` if there is nothing. */
export function memberAt(members: Readonly<Record<string, unknown>>, path: readonly string[]): unknown {
  let found: unknown = members;
  for (const name of path) {
    const inside: unknown = found;
    if (Array.isArray(inside)) found = /^\d{1,9}$/.test(name) ? (inside[Number(name)] as unknown) : undefined;
    else if (isObject(inside) && Object.hasOwn(inside, name)) found = inside[name];
    else return undefined;
  }
  return found;
}
