import { invalidJson } from '../fault/index.ts';
import { isObject } from '../json.ts';

/** What a JSON body is, without its values. */
export interface JsonBody {
  readonly isArray: boolean;
  /** Of its object, or of every object of its array; absent when there is none, or when they differ. */
  readonly keys?: readonly string[];
}

/** Throws PGRST102 for what is not JSON. */
export function scanJson(body: Buffer): JsonBody {
  const value = parse(body);
  const isArray = Array.isArray(value);
  const objects: readonly unknown[] = isArray ? value : [value];
  if (!objects.every(isObject)) return { isArray };
  const keys = Object.keys(objects[0] ?? {});
  return { isArray, ...(objects.every((one) => hasKeys(one, keys)) && { keys }) };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw invalidJson();
  }
}

function hasKeys(object: object, keys: readonly string[]): boolean {
  return Object.keys(object).length === keys.length && keys.every((key) => Object.hasOwn(object, key));
}
