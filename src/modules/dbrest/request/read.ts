import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../directives.ts';
import { type RequestHead, rowRange } from './head.ts';
import { parseReadQuery } from './query.ts';
import type { ReadQuery } from './tree.ts';

/** A GET or HEAD request for a table. */
export interface ReadRequest {
  readonly kind: 'read';
  readonly head: RequestHead;
  /** Offset and limit include the `Range` header and `dbrest_max_rows`. */
  readonly query: ReadQuery;
}

/** Parses a read. Throws a `DbrestFault`. */
export function parseRead(x: Exchange, head: RequestHead, { maxRows }: DbrestConfig): ReadRequest {
  const query = parseReadQuery(x.args);
  return { kind: 'read', head, query: { ...query, ...rowRange(query, x.header('range'), maxRows) } };
}
