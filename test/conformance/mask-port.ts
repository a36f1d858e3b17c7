/** The text with a name in place of a port, but not of the same digits within a longer number. */
export function maskPort(text: string, port: number, name = 'PORT'): string {
  return text.replace(new RegExp(`(?<!\\d)${port}(?!\\d)`, 'g'), name);
}
