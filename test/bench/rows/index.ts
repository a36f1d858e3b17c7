import { type Pace, FULL, SHORT } from '../bench.ts';
import { downloadsRow, filesRow, uploadsRow } from '../growth/bodies.ts';
import { connectionsRow } from '../growth/connections.ts';
import { costsRow } from '../growth/costs.ts';
import { locationsRow } from '../growth/locations.ts';
import { rowsRow } from '../growth/rows.ts';
import { workersRow } from '../growth/workers.ts';
import type { Row } from '../row.ts';
import { throughputOf } from '../scenario.ts';
import { largeHit, smallHit } from '../scenarios/cache.ts';
import { inspect, publish } from '../scenarios/events.ts';
import { unaryCalls } from '../scenarios/grpc.ts';
import { http2File, http2Proxy, http2Return } from '../scenarios/http2.ts';
import { fullHandshakes, httpsReturn, httpsScenarios, resumedHandshakes } from '../scenarios/https.ts';
import { keyRead } from '../scenarios/kv.ts';
import { checkedProxy, fastcgiHello, proxiedText } from '../scenarios/proxy.ts';
import { embedded, hundredRows, insertedRow, oneRow } from '../scenarios/rest.ts';
import { returnFromNode, returnText } from '../scenarios/return.ts';
import { cachedFile, smallFile } from '../scenarios/static.ts';
import { messages } from '../scenarios/websocket.ts';
import { tailsOf } from '../tails.ts';
import { bulkRow } from './bulk.ts';
import { gzipRow } from './gzip.ts';
import { memoryRow } from './memory.ts';
import { metricsRow } from './metrics.ts';
import { rewriteRow } from './rewrite.ts';
import { schemaRow } from './schema.ts';
import { startRow } from './start.ts';
import { tracesRow } from './traces.ts';

/** Rows that one run makes, in the order of the table; each group stays within the time of a run. */
export interface Group {
  readonly about: string;
  readonly pace: Pace;
  readonly rows: readonly Row[];
}

const SCENARIOS = [
  returnText,
  smallFile,
  cachedFile,
  smallHit,
  largeHit,
  proxiedText,
  keyRead,
  publish,
  inspect,
  oneRow,
  hundredRows,
  insertedRow,
];

/** What goes over TLS, or over the engine that serves TLS. */
const SECURE = [
  ...httpsScenarios,
  fullHandshakes,
  resumedHandshakes,
  returnFromNode,
  http2Return,
  http2File,
  http2Proxy,
  unaryCalls,
  messages,
];

const TAILS = [
  returnText,
  smallFile,
  proxiedText,
  keyRead,
  publish,
  oneRow,
  hundredRows,
  insertedRow,
  httpsReturn,
  fullHandshakes,
  http2Return,
  unaryCalls,
  messages,
];

export const GROUPS = {
  goals: {
    about: 'throughput and memory beside their goals',
    pace: FULL,
    rows: [...SCENARIOS.map((scenario) => throughputOf(scenario.name, scenario)), memoryRow],
  },
  growth: {
    about: 'cost over locations, rows, connections, workers, sizes of bodies, and memory of one more of each',
    pace: SHORT,
    rows: [locationsRow, rowsRow, connectionsRow, workersRow, filesRow, downloadsRow, uploadsRow, costsRow],
  },
  tails: {
    about: 'p50, p99 and p99.9 at half of the greatest rate',
    pace: SHORT,
    rows: TAILS.map(tailsOf),
  },
  https: {
    about: 'HTTPS, handshakes, HTTP/2, gRPC and WebSocket, beside their goals',
    pace: SHORT,
    rows: SECURE.map((scenario) => throughputOf(scenario.name, scenario)),
  },
  more: {
    about:
      'rewrites, compression, active checks, FastCGI, counting, traces, embedding, bulk inserts, large schemas, start',
    pace: SHORT,
    rows: [
      rewriteRow,
      metricsRow,
      tracesRow,
      gzipRow,
      throughputOf(checkedProxy.name, checkedProxy),
      throughputOf(fastcgiHello.name, fastcgiHello),
      throughputOf(embedded.name, embedded),
      bulkRow,
      schemaRow,
      startRow,
    ],
  },
} as const satisfies Record<string, Group>;

export type GroupName = keyof typeof GROUPS;
