import type { VariableFacts } from '../lookups.ts';

/** The built-in variable of a name, or the family that it belongs to. */
export function builtInNamed(
  name: string,
  variables: ReadonlyMap<string, VariableFacts>,
): VariableFacts | undefined {
  const known = variables.get(name.toLowerCase());
  if (known) return known;
  for (const facts of variables.values()) {
    const prefix = facts.name.slice(0, -1);
    if (facts.name.endsWith('*') && name.toLowerCase().startsWith(prefix)) return facts;
  }
  return undefined;
}
