import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../directives.ts';
import { type RequestHead, rowRange } from './head.ts';
import { parseReadQuery } from './query.ts';
import type { ReadQuery } from './tree.ts';

/** GET and HEAD of a table. */
export interface ReadRequest {
  readonly kind: 'read';
  readonly head: RequestHead;
  /** Its offset and limit are those of the `Range` header and of `dbrest_max_rows` as well. */
  readonly query: ReadQuery;
}

/** Throws a `DbrestFault`. */
export function parseRead(x: Exchange, head: RequestHead, { maxRows }: DbrestConfig): ReadRequest {
  const query = parseReadQuery(x.args);
  return { kind: 'read', head, query: { ...query, ...rowRange(query, x.header('range'), maxRows) } };
}
