import { type DbrestConfig, rowLimitOf } from '../directives/index.ts';
import { QUERY } from './query-method.ts';
import { type RequestHead, rowRange } from './head.ts';
import { parseReadQuery } from './query.ts';
import type { ReadQuery } from './tree.ts';

/** A GET, HEAD or QUERY request for a table. */
export interface ReadRequest {
  readonly kind: 'read';
  readonly head: RequestHead;
  /** Offset and limit include the `Range` header and `dbrest_max_rows`. */
  readonly query: ReadQuery;
}

/** The texts of a request that are parsed together. */
export interface QuerySource {
  /** The raw query string, followed by the body of a QUERY. */
  readonly args: string;
  /** The header `Range`. */
  readonly range: string | undefined;
}

/** Parses a read. Throws a `DbrestFault`. */
export function parseRead(head: RequestHead, source: QuerySource, { maxRows }: DbrestConfig): ReadRequest {
  const query = parseReadQuery(source.args);
  return {
    kind: 'read',
    head,
    query: { ...query, ...rowRange(query, rangeOf(head, source), rowLimitOf(maxRows, head.resource.name)) },
  };
}

/** The header `Range` holds for GET (RFC 9110, 14.2) and QUERY alone. */
export function rangeOf({ method }: RequestHead, { range }: QuerySource): string | undefined {
  return method === 'GET' || method === QUERY ? range : undefined;
}
