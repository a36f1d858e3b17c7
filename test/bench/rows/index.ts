import type { Row } from '../row.ts';
import { dbrestRow } from './dbrest.ts';
import { eventsRow } from './events.ts';
import { gzipRow } from './gzip.ts';
import { kvRow } from './kv.ts';
import { locationsRow } from './locations.ts';
import { memoryRow } from './memory.ts';
import { metricsRow } from './metrics.ts';
import { proxyRow } from './proxy.ts';
import { returnRow } from './return.ts';
import { rewriteRow } from './rewrite.ts';
import { schemaRow } from './schema.ts';
import { startRow } from './start.ts';
import { staticRow } from './static.ts';
import { writesRow } from './writes.ts';

/** In the order of the table. */
export const ROWS: readonly Row[] = [
  returnRow,
  rewriteRow,
  staticRow,
  metricsRow,
  locationsRow,
  gzipRow,
  proxyRow,
  kvRow,
  eventsRow,
  dbrestRow,
  writesRow,
  schemaRow,
  memoryRow,
  startRow,
];
