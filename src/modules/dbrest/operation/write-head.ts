import type { Exchange } from '../../../http/index.ts';
import { contentRange } from '../headers/index.ts';
import type { Row } from '../session/index.ts';
import type { DecidedWrite } from './decide-write.ts';
import type { Shown } from './write-reply.ts';

/** What became of the rows of a write. */
export interface Written {
  readonly rows: number;
  /** Of them were not there before. */
  readonly inserted: number;
  /** The number of rows, and of a single one the values of its key. */
  readonly place: Row | undefined;
}

/** Status of a write by the contract's table ("Writing"). */
export function writeStatus(
  { method, plan, media }: DecidedWrite,
  shown: Shown,
  { inserted }: Written,
): number {
  if (media.plan) return 200;
  const isUpsert = plan.write.kind === 'insert' && plan.write.conflict !== undefined;
  switch (method) {
    case 'POST':
      return shown === 'rows' && isUpsert && inserted === 0 ? 200 : 201;
    case 'PUT':
      if (shown !== 'rows') return 204;
      return inserted > 0 ? 201 : 200;
    case 'PATCH':
    case 'DELETE':
      return shown === 'rows' ? 200 : 204;
  }
}

/** `Content-Range`, as PostgREST gives it, and `Location`. */
export function writeHeaders(
  x: Exchange,
  { method, preferences, plan, media }: DecidedWrite,
  { rows, place }: Written,
): [name: string, value: string | undefined][] {
  if (media.plan) return [];
  const total = preferences.count ? rows : undefined;
  const range = contentRange({ offset: 0 }, method === 'PATCH' ? rows : 0, total);
  const location =
    place && rows === 1 ? locationOf(x, plan.write.table.primaryKey, place.slice(1)) : undefined;
  return [
    ['Content-Range', method === 'PUT' ? undefined : range],
    ['Location', location],
  ];
}

/** The table as the client named it, filtered by the key of a row. */
function locationOf({ requestUri }: Exchange, key: readonly string[], values: Row): string {
  const pairs = key.map((name, i) => `${encodeURIComponent(name)}=eq.${encodeURIComponent(values[i] ?? '')}`);
  return `${requestUri.replace(/\?.*$/s, '')}?${pairs.join('&')}`;
}
