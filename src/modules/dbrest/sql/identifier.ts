/** A name as a quoted SQL identifier: the only way a name gets into a statement. Refuses NUL, which would end the text. */
export function quoteIdentifier(name: string): string {
  if (name.includes('\0')) throw new Error('NUL in an identifier');
  return `"${name.replaceAll('"', '""')}"`;
}

/** A table or function with its schema. */
export function qualifiedName({ schema, name }: { readonly schema: string; readonly name: string }): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`;
}
