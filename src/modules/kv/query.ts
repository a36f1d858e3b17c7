import type { Bytes } from './store.ts';

/** The first parameter of that name in a raw query, still encoded; `undefined` when there is none. */
export function rawParameter(args: string, name: string): string | undefined {
  let start = 0;
  while (start <= args.length) {
    const next = args.indexOf('&', start);
    const end = next < 0 ? args.length : next;
    if (args.startsWith(name, start) && args[start + name.length] === '=') {
      return args.slice(start + name.length + 1, end);
    }
    start = end + 1;
  }
  return undefined;
}

/**
 * Percent-decodes to text, or to bytes where the result is not UTF-8. A `%` without two hex digits stands for itself
 * and `+` is no blank, as in nginx.
 */
export function percentDecode(raw: string): Bytes {
  if (!raw.includes('%')) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    const bytes = Buffer.from(raw)
      .toString('latin1')
      .replace(/%([0-9a-fA-F]{2})/g, hexToByte);
    return Buffer.from(bytes, 'latin1');
  }
}

function hexToByte(_: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}
