import type { Payload } from '../grammar/index.ts';

/** Whether a value is what `gw build` needs of crossplane's JSON: files with their directives. */
export function isPayload(value: unknown): value is Payload {
  return isObject(value) && isListOf(value['config'], isFile);
}

function isFile(value: unknown): boolean {
  return isObject(value) && typeof value['file'] === 'string' && isListOf(value['parsed'], isStatement);
}

function isStatement(value: unknown): boolean {
  if (!isObject(value) || typeof value['directive'] !== 'string') return false;
  const { args, block } = value;
  return (
    isListOf(args, (arg) => typeof arg === 'string') && (block === undefined || isListOf(block, isStatement))
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isListOf(value: unknown, fits: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}
