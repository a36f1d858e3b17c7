/** Names that a component may have (OpenAPI 3.1, "Components Object"), without the dot, which escapes here. */
const FORBIDDEN = /[^\w-]/gu;

/**
 * The name of a table's or function's component: characters that have no place there come as `.hex.`, so that no two
 * names become one. With a word behind a single dot, other names never come out alike.
 */
export function componentName(name: string): string {
  return name.replace(FORBIDDEN, (character) => `.${(character.codePointAt(0) as number).toString(16)}.`);
}

/** A reference to a component. */
export function reference(kind: 'schemas' | 'parameters' | 'responses', name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/** A reference to a property of a schema; `undefined` where its name has to be escaped, which not every tool undoes. */
export function propertyReference(name: string, property: string): { $ref: string } | undefined {
  if (!/^[\w-]+$/.test(property)) return undefined;
  return { $ref: `#/components/schemas/${name}/properties/${property}` };
}

/** A comment as a title and what follows it. */
export function splitComment(comment: string | undefined): { summary?: string; description?: string } {
  if (comment === undefined) return {};
  const [summary = '', description = ''] = comment.split(/\r?\n(.*)/s).map((part) => part.trim());
  return { ...(summary !== '' && { summary }), ...(description !== '' && { description }) };
}
