/** Freezes plain data in depth; objects that several places share are visited once. */
export function deepFreeze<T>(value: T): T {
  const waiting: unknown[] = [value];
  for (let item = waiting.pop(); item !== undefined || waiting.length > 0; item = waiting.pop()) {
    if (!isOpen(item)) continue;
    Object.freeze(item);
    // One by one: a table may have more entries than a call takes arguments.
    for (const inner of Object.values(item)) if (isOpen(inner)) waiting.push(inner);
  }
  return value;
}

function isOpen(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Object.isFrozen(value);
}
