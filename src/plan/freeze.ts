/** Freezes plain data in depth; objects that several places share are visited once. */
export function deepFreeze<T>(value: T): T {
  const waiting: unknown[] = [value];
  for (let item = waiting.pop(); item !== undefined || waiting.length > 0; item = waiting.pop()) {
    if (typeof item !== 'object' || item === null || Object.isFrozen(item)) continue;
    Object.freeze(item);
    waiting.push(...Object.values(item));
  }
  return value;
}
