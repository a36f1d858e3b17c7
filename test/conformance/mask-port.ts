/** The text with `PORT` in place of a port, but not of the same digits within a longer number. */
export function maskPort(text: string, port: number): string {
  return text.replace(new RegExp(`(?<!\\d)${port}(?!\\d)`, 'g'), 'PORT');
}
