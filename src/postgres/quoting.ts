/** Quotes an SQL identifier. All names in statements go through it. Throws for NUL, which would end the text. */
export function quoteIdentifier(name: string): string {
  if (name.includes('\0')) throw new Error('NUL in an identifier');
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes a text as a literal of SQL, for scripts, which have no parameters. */
export function literal(text: string): string {
  // With the prefix E, a backslash has the same meaning under all server settings.
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? `E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
