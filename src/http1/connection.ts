import { withoutBlanks } from './field.ts';

const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;
const KEEP_ALIVE = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/i;

/** Hop-by-hop headers (RFC 9110, 7.6.1) in lower case; a `Connection` header may name more. */
export const HOP_BY_HOP: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** Joins the `Connection` headers of a message; `before` is '' for the first. */
export function joinConnection(before: string, value: string): string {
  return before === '' ? value : `${before},${value}`;
}

/**
 * Tells whether the sender keeps its connection open after a message (RFC 9112, 9.3). `close` overrides everything
 * else.
 */
export function keepsAlive(connection: string, isHttp11: boolean): boolean {
  if (connection === '') return isHttp11;
  if (CLOSE.test(connection)) return false;
  return isHttp11 || KEEP_ALIVE.test(connection);
}

/** Returns the options of a `Connection` header, in lower case. */
export function connectionOptions(value: string): string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((option) => withoutBlanks(option))
    .filter((option) => option !== '');
}
