/** A name as a quoted SQL identifier: the only way a name gets into a statement. Refuses NUL, which would end the text. */
export function quoteIdentifier(name: string): string {
  if (name.includes('\0')) throw new Error('NUL in an identifier');
  return `"${name.replaceAll('"', '""')}"`;
}
