/** Quotes a text as a literal of SQL, for scripts, which have no parameters. */
export function literal(text: string): string {
  // With the prefix E a backslash means the same under all server settings.
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? `E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
