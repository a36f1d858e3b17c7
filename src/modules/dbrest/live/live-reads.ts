import { beginStream } from '../../../event-streams.ts';
import { detachedFrom, type Exchange } from '../../../http/index.ts';
import { PoolRefusal } from '../../../postgres/index.ts';
import type { Identity } from '../auth/index.ts';
import type { CostGuard, RestDatabase } from '../database/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { badClaims, type DbrestFault, notFollowable, notWatched } from '../fault/index.ts';
import { isInert, type Plan, type PlannedRead } from '../plan/index.ts';
import {
  acceptedMedia,
  type compileQuery,
  NO_CONTENT,
  type Request,
  type RequestHead,
  requestWith,
} from '../request/index.ts';
import { faultOf } from '../response/index.ts';
import type { Followed } from '../schema/index.ts';
import { ConnectionLost, runSteps } from '../session/index.ts';
import {
  changedRowsSql,
  type compileTransaction,
  followedRowsSql,
  type Statement,
  type Work,
} from '../sql/index.ts';
import type { RunsOf } from '../statement-runs.ts';
import type { ChangeFeed } from './change-feed.ts';
import { KeyedRows, type KeyedRow } from './known-rows.ts';
import { LiveQuery } from './live-query.ts';
import { LiveStream } from './live-stream.ts';

/** The steps of a followed read: the request is planned once, and its statements are written for each read. */
export interface LiveReadSteps {
  readonly headOf: (x: Exchange) => RequestHead;
  readonly queryOf: ReturnType<typeof compileQuery>;
  readonly planOf: (request: Request, role: string) => Plan | Promise<Plan>;
  readonly statementsOf: ReturnType<typeof compileTransaction>;
  /** Returns statements that decide whether a read may run, if its cost is not known. Throws if it may not. */
  readonly estimationOf: CostGuard['estimationOf'] | undefined;
  readonly runsOf: RunsOf | undefined;
}

/** The parts that followed reads of a location use. */
interface LiveReadParts {
  readonly config: DbrestConfig;
  readonly database: RestDatabase;
  readonly feed: ChangeFeed;
  readonly steps: LiveReadSteps;
}

/** The reads of one location that clients follow, in one worker. Clients that would get the same share one. */
export class LiveReads {
  readonly #parts: LiveReadParts;
  readonly #queries = new Map<string, LiveQuery>();

  constructor(parts: LiveReadParts) {
    this.#parts = parts;
    parts.feed.spare(parts.config.poolSize);
  }

  /** Opens a stream of a read, or `undefined` if no body is sent. Rejects with a `DbrestFault`, or as reads do. */
  async open(x: Exchange, identity: Identity): Promise<LiveStream | undefined> {
    const { config, feed } = this.#parts;
    const headers = passedHeaders(x, config.liveHeaders ?? []);
    const key = sharedKey(x, identity, headers);
    if (x.method === 'HEAD') {
      // A read that nobody follows would never end.
      followableBy(await this.#planOf(x, identity.role));
      beginStream(x);
      return undefined;
    }
    const query = this.#queries.get(key) ?? (await this.#begin(x, { identity, headers, key }));
    const source = await query.join(x.header('last-event-id'));
    const out = x.aborted ? undefined : beginStream(x);
    if (!out) return undefined;
    const stream = new LiveStream(x, out, { source, heartbeat: feed.heartbeat });
    const leave = query.add(stream);
    x.onEnd(leave);
    return stream;
  }

  async #begin(x: Exchange, asked: StreamRequest): Promise<LiveQuery> {
    const { config, feed } = this.#parts;
    const { identity, headers, key } = asked;
    const plan = await this.#planOf(x, identity.role);
    const followed = followableBy(plan);
    // Another client may have asked for the same meanwhile.
    const known = this.#queries.get(key);
    if (known) return known;
    const read = this.#reader(detachedFrom(x, 'GET', { headers }), identity, plan);
    const query = new LiveQuery({
      feed,
      followed,
      readAll: (take) => read(followedRowsSql(plan.rows, followed, config.liveMaxRows), take),
      readKeys: (keys, take) => read(changedRowsSql(plan.rows, followed, keys), take),
      isPart: plan.rows.limit !== undefined || plan.rows.offset > 0,
      mostRows: config.liveMaxRows,
      bufferBytes: config.liveBufferBytes,
      faultOf: (error) => lastingFault(error, identity.role !== config.anonRole),
      ended: () => this.#queries.delete(key),
    });
    this.#queries.set(key, query);
    endWithToken(query, identity);
    return query;
  }

  /** Plans the request of a stream as a read of JSON. */
  async #planOf(x: Exchange, role: string): Promise<PlannedRead> {
    const { headOf, queryOf, planOf } = this.#parts.steps;
    const head = headOf(x);
    if (head.kind !== 'read') throw notFollowable('Only rows of tables and views can be followed.');
    const parsed = queryOf(x, { ...head, accepted: JSON_ONLY }, { args: x.args, range: undefined });
    const plan = await planOf(requestWith(parsed, NO_CONTENT), role);
    if (plan.kind !== 'read') throw new Error('a read is planned as a read');
    return plan;
  }

  /** Returns the function that runs a statement as the role of a request, and passes on its rows. */
  #reader(
    quiet: Exchange,
    identity: Identity,
    plan: PlannedRead,
  ): (statement: Statement, take: (row: KeyedRow) => void) => Promise<void> {
    const { config, database, steps: own } = this.#parts;
    const rules = { ...config, poolQueue: Infinity };
    const isQuiet = !config.preRequest && isInert(plan.rows);
    return async (statement, take) => {
      const work: Work = {
        counts: [],
        main: { statement },
        readOnly: true,
        repeatable: true,
        contained: true,
        leaves: isQuiet ? 'nothing' : 'settings',
      };
      const runs = own.runsOf?.(statement.text, identity.role);
      const statements = own.statementsOf(quiet, identity, { plan, work });
      const { isolation, leaves, shares, timeZone } = statements;
      const estimation = own.estimationOf?.(plan, statements);
      const timeZones = timeZone === undefined ? undefined : [timeZone];
      const read = new KeyedRows();
      const steps = runSteps(statements, read);
      const order = { client: read, rules, isolation, leaves, shares, timeZones, estimation, runs };
      await database.read(steps, order);
      runs?.addRows(read.rows.length);
      for (const row of read.rows) take(row);
    };
  }
}

/** A request for a stream. */
interface StreamRequest {
  readonly identity: Identity;
  /** The headers that the database may see. */
  readonly headers: readonly string[];
  readonly key: string;
}

const JSON_ONLY = acceptedMedia('application/json');

/** The fault of an error that would come again if the read is repeated; `undefined` for one of the connection. */
function lastingFault(error: unknown, authenticated: boolean): DbrestFault | undefined {
  if (error instanceof PoolRefusal || error instanceof ConnectionLost) return undefined;
  const fault = faultOf(error, { authenticated });
  return fault && fault.status >= 503 ? undefined : fault;
}

function passedHeaders({ request: { headers } }: Exchange, names: readonly string[]): readonly string[] {
  const passed: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2)
    if (names.includes(headers[i] as string)) passed.push(headers[i] as string, headers[i + 1] as string);
  return passed;
}

/** The key of a read: everything that its rows depend on, except the content of the database. */
function sharedKey(x: Exchange, { role, jwt, claims }: Identity, headers: readonly string[]): string {
  const profile = x.header('accept-profile') ?? '';
  return JSON.stringify([x.uri, x.args, profile, x.header('prefer') ?? '', role, jwt, claims, headers]);
}

/** Returns how changes of the rows of a read are announced. Throws DBREST120 and DBREST121. */
function followableBy({ rows, request }: PlannedRead): Followed {
  if (rows.grouped) throw notFollowable('Rows that are aggregated or distinct have no key.');
  if (rows.distinct > 0)
    throw notFollowable('Which of several rows is left by "distinct" cannot be followed.');
  if (!rows.table.followed) throw notWatched(request.head.resource.name);
  return rows.table.followed;
}

/** Timers of Node.js hold at most 24 days. */
const LONGEST_MS = 2_000_000_000;

/** Ends the streams of a token when it expires. */
function endWithToken(query: LiveQuery, { jwt, claims }: Identity): void {
  if (jwt === '') return;
  const { exp } = JSON.parse(claims) as { exp?: unknown };
  if (typeof exp !== 'number') return;
  const leftMs = exp * 1000 - Date.now();
  if (leftMs > LONGEST_MS) return;
  query.failIn(Math.max(0, leftMs), badClaims('JWT expired'));
}
