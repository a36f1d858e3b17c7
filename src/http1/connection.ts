import { withoutBlanks } from './field.ts';

const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;
const KEEP_ALIVE = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/i;

/** Headers that end with each hop (RFC 9110, 7.6.1), besides those that a `Connection` names. In lower case. */
export const HOP_BY_HOP: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** All `Connection` headers of a message as one; '' before the first. */
export function joinConnection(before: string, value: string): string {
  return before === '' ? value : `${before},${value}`;
}

/** Whether the sender leaves its connection open behind a message (RFC 9112, 9.3): `close` outweighs all else. */
export function keepsAlive(connection: string, isHttp11: boolean): boolean {
  if (connection === '') return isHttp11;
  if (CLOSE.test(connection)) return false;
  return isHttp11 || KEEP_ALIVE.test(connection);
}

/** The options of a `Connection` header, in lower case. */
export function connectionOptions(value: string): string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((option) => withoutBlanks(option))
    .filter((option) => option !== '');
}
