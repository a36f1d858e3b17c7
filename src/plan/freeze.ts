/** Freezes plain data in depth; objects that several places share are visited once. */
export function deepFreeze<T>(value: T): T {
  const waiting: unknown[] = [value];
  for (let item = waiting.pop(); item !== undefined || waiting.length > 0; item = waiting.pop()) {
    if (!isOpen(item)) continue;
    Object.freeze(item);
    for (const key in item) {
      const inner: unknown = (item as Readonly<Record<string, unknown>>)[key];
      if (isOpen(inner)) waiting.push(inner);
    }
  }
  return value;
}

function isOpen(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Object.isFrozen(value);
}
