/** An address as nginx prints it: IPv6 shortened, `unix:` for a Unix socket. uWebSockets.js gives ASCII bytes. */
export function addressText(bytes: ArrayBuffer): string {
  const text = Buffer.from(bytes).toString('latin1');
  if (text === '') return 'unix:';
  if (!text.includes(':')) return text;
  const mapped = /^(?:0000:){5}ffff:([\da-f]{2})([\da-f]{2}):([\da-f]{2})([\da-f]{2})$/.exec(text);
  if (mapped)
    return mapped
      .slice(1)
      .map((byte) => Number.parseInt(byte, 16))
      .join('.');
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}
