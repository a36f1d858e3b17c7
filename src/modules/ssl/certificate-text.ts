import type { X509Certificate } from 'node:crypto';

const DAY_MS = 86_400_000;
/** Node.js prints one `name=value` per line with OpenSSL's short names, escaped by RFC 2253 except for 8-bit characters. */
const BEYOND_ASCII = /[^\0-\x7f]+/g;
const ESCAPE = /\\([\dA-F]{2}|[^])/gi;

/** Returns PEM as a header value: every line but the first is indented by a tab. */
export function indentedPem(certificate: X509Certificate): string {
  return certificate.toString().trimEnd().replaceAll('\n', '\n\t');
}

/** Formats a distinguished name by RFC 2253: last attribute first, separated by commas. */
export function dnText(name: string): string {
  return attributesOf(name)
    .reverse()
    .join(',')
    .replace(BEYOND_ASCII, (characters) => escapeBytes(characters, '\\'));
}

/** Formats a distinguished name in OpenSSL's old one-line form: `/C=DE/CN=a`. */
export function legacyDnText(name: string): string {
  const plain = attributesOf(name).map((line) =>
    line.replace(ESCAPE, (_, code: string) =>
      code.length === 2 ? Buffer.from(code, 'hex').toString('latin1') : code,
    ),
  );
  return plain
    .map((attribute) => `/${attribute}`)
    .join('')
    .replace(BEYOND_ASCII, (characters) => escapeBytes(characters, '\\x'));
}

/** Returns the whole days until a time as OpenSSL prints it; 0 if it has passed. */
export function daysUntil(time: string): string {
  return String(Math.max(0, Math.floor((Date.parse(time) - Date.now()) / DAY_MS)));
}

function attributesOf(name: string): string[] {
  return name.split('\n').filter((line) => line !== '');
}

function escapeBytes(characters: string, before: string): string {
  return Array.from(Buffer.from(characters), (byte) => before + byte.toString(16).toUpperCase()).join('');
}
