import { timedSpan } from '../../../http/index.ts';
import type { ErrorLog } from '../../../log/index.ts';
import { Pool, type PoolBounds, PoolRefusal, type WireError } from '../../../postgres/index.ts';
import { DatabaseCaches, RELATIVES_SQL } from '../caching/index.ts';
import { DatabaseOutage } from './database-outage.ts';
import type { Estimation } from './cost-guard.ts';
import { noSchemaCache } from '../fault/index.ts';
import type { DatabaseMetrics } from '../metrics.ts';
import { Channels } from './channels.ts';
import { KeptPlans } from '../plan-cache/index.ts';
import { hasOldPlan, MOST_REPEATS, reasonToRepeat, Renewal } from './recovery.ts';
import {
  CatalogueShare,
  CatalogueWriter,
  FEATURES_SQL,
  STATE_SQL,
  type Reading,
  type Schema,
  SchemaCache,
  schemaOf,
  type ServerFeatures,
  type ShareKey,
} from '../schema/index.ts';
import {
  type BatchRules,
  type Cost,
  Displaced,
  hasLostType,
  type Results,
  type RunStep,
  type Session,
} from '../session/index.ts';
import { Costs, MOST_CHARACTERS, SharedSessions, SlowClients } from './sharing.ts';
import type { Counter } from '../../../zone/index.ts';
import { inSlices } from '../event-loop.ts';
import { Listening, type ListeningOptions } from './listening.ts';
import { BACKGROUND_RULES, type BatchOrder, INTERNAL_READ, PROBE_RULES } from './order.ts';
import { catalogueSteps, NO_PATH, readOne } from './own-reads.ts';

/** A batch that shares its session. */
interface SharedTurn {
  /** The time that it usually takes. */
  readonly turnMs: number;
  /** A large result may be dropped and read again. */
  readonly isRepeatable: boolean;
}

/** The part of a request that waits for a session. */
const WAIT = { name: 'wait', kind: 'internal' } as const;

/** The pool of a database that no location has claimed yet. */
const BEFORE_CLAIMS: PoolBounds = { size: 1, maxAgeMs: 30 * 60_000 };
/** Extra time after `statement_timeout` in which the server can report the timeout itself. */
const GRACE_MS = 500;

/** The interface of a database for requests. */
export interface RestDatabase extends Pick<
  Database,
  'schema' | 'plans' | 'caches' | 'read' | 'write' | 'features' | 'costRefusals' | 'isListening'
> {
  readonly outage: Pick<DatabaseOutage, 'holds'>;
}

interface DatabaseOptions {
  /** The name in the log, without secrets. */
  readonly name: string;
  /** Differs between databases and login roles; without secrets. */
  readonly identity: string;
  /** Opens a session; `ended` is called when it has ended, `flushed` with the number of batches of each write. */
  readonly open: (events: {
    readonly ended: (session: Session) => void;
    readonly flushed: (batches: number) => void;
  }) => Promise<Session>;
  /** Opens a session that receives notifications. */
  readonly listen: ListeningOptions['listen'];
  readonly log: ErrorLog;
  /** The state that the workers of the process share. */
  readonly share: ShareKey;
  readonly workerId: number;
  readonly metrics: DatabaseMetrics;
}

/** One database in one worker: its sessions, shared by all locations that use it, and its schema. */
export class Database {
  readonly schema: SchemaCache;
  readonly plans: KeptPlans;
  readonly caches: DatabaseCaches;
  readonly costRefusals: Pick<Counter, 'add'>;
  readonly channels: Channels;
  readonly outage: DatabaseOutage;
  readonly #share: CatalogueShare;
  readonly #listening: Listening;
  readonly #pool: Pool<Session>;
  readonly #costs = new Costs();
  readonly #shared: SharedSessions;
  readonly #slowClients = new SlowClients(() => this.#pool.waiting > 0);
  readonly #log: ErrorLog;
  readonly #name: string;
  readonly #claims: PoolBounds[] = [];
  readonly #metrics: DatabaseMetrics;
  readonly #hidePool: () => void;
  #features: Promise<ServerFeatures> | undefined;
  #configuration: AbortSignal | undefined;
  /** Number of locations that take settings of the database. */
  #settingFollowers = 0;
  /** Grows when plans may have become outdated that the server does not know to be. */
  #planEpoch = 0;
  readonly #renewal = new Renewal(() => {
    this.#pool.renew();
    this.#shared.close();
  });

  constructor({ name, identity, open, listen, log, share, workerId, metrics }: DatabaseOptions) {
    this.#name = name;
    this.#log = log;
    this.#metrics = metrics;
    this.plans = new KeptPlans(metrics.plans);
    this.costRefusals = metrics.costRefusals;
    this.#share = new CatalogueShare(share, workerId, (reading) => void this.#adopt(reading));
    const { unreached } = metrics;
    this.outage = new DatabaseOutage({ name, log, shared: this.#share.outage, workerId, unreached });
    this.caches = new DatabaseCaches({
      database: identity,
      listener: this.#share,
      readRelatives: () => this.#readOnce(RELATIVES_SQL),
    });
    this.schema = new SchemaCache(
      (fresh) => metrics.load(() => this.#readSchema(fresh)),
      ({ isSame, losesTypes }) => this.#schemaReplaced(isSame, losesTypes),
      () => this.#readOnce(STATE_SQL),
    );
    this.#pool = new Pool<Session>({
      open: () => this.#open(open),
      close: (session) => session.end(),
      ...BEFORE_CLAIMS,
      unreachable: (error) => this.outage.note(error),
    });
    this.channels = new Channels(log);
    this.#shared = new SharedSessions(this.#pool, this.#costs);
    this.#hidePool = metrics.showPool(() => this.#pool.level);
    const refresh = (): void => void this.schema.refresh();
    const reachable = (error: Error | undefined): void => this.outage.note(error);
    const hearers = { share: this.#share, caches: this.caches, channels: this.channels, refresh, reachable };
    this.#listening = new Listening({
      name,
      log,
      listen,
      ...hearers,
      followSettings: () => this.#settingUse,
    });
  }

  /** Notifications are heard, by whichever worker listens. */
  get isListening(): boolean {
    return this.#share.isLeaseHeld;
  }

  /**
   * The pool grows to the largest size that is claimed, and its sessions live for the shortest time. Returns the
   * function that withdraws the claim.
   */
  claim(bounds: PoolBounds): () => void {
    this.#claims.push(bounds);
    this.#adjustPool();
    return () => {
      this.#claims.splice(this.#claims.indexOf(bounds), 1);
      if (this.#claims.length > 0) this.#adjustPool();
    };
  }

  /**
   * Runs a read. It is cancelled when the client goes away. Before the client has received anything, it is repeated if
   * the session was lost, or the transaction conflicted with others or met a change of a table, a few times at most.
   * Rejects with `PoolRefusal`, `ConnectionLost`, an error of the server or an exception of a sink.
   */
  async read(steps: readonly RunStep[], order: BatchOrder): Promise<Results> {
    const { client } = order;
    let run = this.#run(steps, order, true);
    for (let repeats = 0, lostType = false; ; repeats += 1) {
      try {
        const results = await run;
        if (lostType) this.#renewal.helped();
        return results;
      } catch (error) {
        lostType = hasLostType(error as WireError);
        const reason = reasonToRepeat(error as WireError);
        const mayRepeat = reason !== undefined && repeats < MOST_REPEATS[reason];
        if (!mayRepeat || client.aborted || client.done === true) throw error;
        this.#metrics.repeats[reason].add();
        // Often all sessions end at once, and idle ones may not have noticed it yet.
        if (reason === 'lost') this.#pool.discardIdle();
        run = this.#runAlone(steps, order);
      }
    }
  }

  /**
   * Runs statements with effects. They are cancelled when the client goes away, and never repeated once they may have
   * had an effect; an exception of the verdict rolls them back. Rejects as `read` does, or with that exception.
   */
  async write(steps: readonly RunStep[], given: BatchOrder): Promise<Results> {
    return this.#run(steps, given.leaves ? given : { ...given, leaves: 'anything' }, false);
  }

  /** The features of the server, read once. Rejects as `read` does. */
  features(): Promise<ServerFeatures> {
    this.#features ??= this.#readOnce(FEATURES_SQL).then((geoSchema) => (geoSchema ? { geoSchema } : {}));
    this.#features.catch(() => (this.#features = undefined));
    return this.#features;
  }

  /** The result of a health check: why the database cannot be used, or `undefined`. Loads the schema if necessary. */
  async fault(): Promise<string | undefined> {
    try {
      await this.schema.current();
    } catch (error) {
      return error instanceof PoolRefusal ? 'not reachable' : 'the schema cannot be read';
    }
    try {
      await this.#readOnce('select 1', PROBE_RULES);
      return undefined;
    } catch (error) {
      // A busy pool is not a fault of the database.
      return error instanceof PoolRefusal && error.reason === 'late' ? undefined : 'not reachable';
    }
  }

  /** Called when a configuration starts to use the database. After a reload the schema is refreshed. */
  enter(configuration: AbortSignal): void {
    if (this.#configuration && this.#configuration !== configuration) void this.schema.refresh();
    this.#configuration = configuration;
  }

  /** Calls `follower` with each schema, whose settings it uses. Returns the function that stops this. */
  followSettings(follower: (schema: Schema) => void): () => void {
    const end = this.schema.follow(follower);
    this.#settingFollowers += 1;
    return () => {
      end();
      this.#settingFollowers -= 1;
    };
  }

  async close(): Promise<void> {
    this.#hidePool();
    this.outage.close();
    this.#slowClients.close();
    await this.#listening.close();
    await this.#pool.close();
    this.#share.close();
  }

  /** The part of the locations that takes settings of the database. */
  get #settingUse(): 'all' | 'some' | 'none' {
    if (this.#settingFollowers === 0) return 'none';
    return this.#settingFollowers < this.#claims.length ? 'some' : 'all';
  }

  #adjustPool(): void {
    this.#pool.adjust({
      size: Math.max(...this.#claims.map(({ size }) => size)),
      maxAgeMs: Math.min(...this.#claims.map(({ maxAgeMs }) => maxAgeMs)),
    });
  }

  /** Runs a batch in a shared session if it is known to be short, and again in its own if it was displaced there. */
  async #run(steps: readonly RunStep[], order: BatchOrder, isRepeatable: boolean): Promise<Results> {
    const { client, rules, shares, estimation } = order;
    const mayShare = shares !== undefined && rules.pipelining > 0 && !estimation;
    const turnMs = mayShare ? this.#costs.shortTurnMs(shares) : undefined;
    if (turnMs === undefined) return this.#runAlone(steps, order);
    try {
      return await this.#runShared(steps, order, { turnMs, isRepeatable });
    } catch (error) {
      if (!(error instanceof Displaced) || client.aborted) throw error;
      this.#metrics.repeats.displaced.add();
      if (error.isCostly) this.#costs.forget(shares as string);
      return this.#runAlone(steps, order);
    }
  }

  /** Runs a batch in a session of its own. It is cancelled when the client goes away. */
  async #runAlone(steps: readonly RunStep[], order: BatchOrder): Promise<Results> {
    const { client, rules } = order;
    let running: Session | undefined;
    client.onAbort(() => running?.cancel());
    const session = await this.#acquire(order);
    const startedMs = performance.now();
    let isCounted = false;
    let hasFailed = true;
    try {
      if (client.aborted) throw new PoolRefusal('abandoned');
      running = session;
      this.#slowClients.begin(session);
      if (order.estimation) await this.#pass(order.estimation, session, order);
      isCounted = order.runs !== undefined;
      const results = await session.run(steps, rules.timeoutMs + GRACE_MS, this.#batchRules(order));
      hasFailed = false;
      return results;
    } catch (error) {
      this.#noteFailure(error as WireError, session);
      throw error;
    } finally {
      running = undefined;
      this.#slowClients.end(session);
      const ms = performance.now() - startedMs;
      this.#metrics.queries.observe(ms / 1000, client.main?.trace);
      if (isCounted) order.runs?.add(ms, hasFailed);
      this.#pool.release(session, session.isSpent);
    }
  }

  async #pass({ steps, judge }: Estimation, session: Session, order: BatchOrder): Promise<void> {
    const { timeoutMs, poolReset } = order.rules;
    const resets = poolReset === 'discard';
    const prepares = order.rules.preparedStatements;
    const rules = { resets, prepares, planEpoch: this.#planEpoch, leaves: order.leaves };
    const results = await session.run(steps, timeoutMs + GRACE_MS, rules);
    if (order.client.aborted) throw new PoolRefusal('abandoned');
    judge(results);
  }

  /** Runs a batch behind others; when the client goes away, its results are dropped. */
  async #runShared(
    steps: readonly RunStep[],
    order: BatchOrder,
    { turnMs, isRepeatable }: SharedTurn,
  ): Promise<Results> {
    const { client, rules } = order;
    const shared =
      this.#shared.join(turnMs, rules.pipelining) ?? this.#shared.add(await this.#acquire(order), turnMs);
    const startedMs = performance.now();
    try {
      if (client.aborted) throw new PoolRefusal('abandoned');
      this.#metrics.depth.observe(shared.session.length);
      const most = isRepeatable ? MOST_CHARACTERS : undefined;
      const batch = this.#batchRules(order, { client, most });
      return await shared.session.run(steps, rules.timeoutMs + GRACE_MS, batch);
    } catch (error) {
      this.#noteFailure(error as WireError, shared.session);
      const hasRun = !(error instanceof Displaced || error instanceof PoolRefusal);
      if (hasRun) order.runs?.add(performance.now() - startedMs, true);
      throw error;
    } finally {
      this.#metrics.queries.observe((performance.now() - startedMs) / 1000, client.main?.trace);
      this.#shared.leave(shared, turnMs);
    }
  }

  #batchRules(
    { rules, isolation, leaves, verdict, failed, shares, timeZones, runs }: BatchOrder,
    shared?: BatchRules['shared'],
  ): BatchRules {
    const measured = (cost: Cost): void => {
      if (shares !== undefined) this.#costs.note(shares, cost);
      // The batches before it in the session have taken a part of the time since it was sent.
      if (shared) runs?.add(cost.turnMs, false);
    };
    return {
      verdict,
      failed,
      isolation,
      resets: rules.poolReset === 'discard',
      prepares: rules.preparedStatements,
      planEpoch: this.#planEpoch,
      leaves,
      timeZones,
      shared,
      measured: shares === undefined ? undefined : measured,
    };
  }

  async #acquire({ client, rules: { poolTimeoutMs, poolQueue }, waited }: BatchOrder): Promise<Session> {
    const wanted = { waitMs: poolTimeoutMs, queueLimit: poolQueue, abandoned: () => client.aborted };
    const startedMs = waited ? performance.now() : 0;
    const acquired = this.#pool.acquire(wanted);
    if (client.main) void timedSpan({ main: client.main }, WAIT, acquired);
    this.#slowClients.watch();
    try {
      return await acquired;
    } catch (refusal) {
      if (refusal instanceof PoolRefusal && refusal.reason === 'late') this.#metrics.timeouts.add();
      throw refusal;
    } finally {
      waited?.(performance.now() - startedMs);
    }
  }

  async #readSchema(fresh: boolean): Promise<Schema> {
    try {
      await this.#listening.started;
      if (fresh) await this.#share.settled();
      return await inSlices(schemaOf(await this.#share.obtain(() => this.#readCatalogue())));
    } catch (error) {
      if (error instanceof PoolRefusal) throw error;
      this.#noteUnreadable(error as Error);
      throw noSchemaCache();
    }
  }

  /** Reacts to an error of outdated plans or types, which other sessions have, too. */
  #noteFailure(error: WireError, session: Session): void {
    if (hasOldPlan(error)) this.#planEpoch += 1;
    if (hasLostType(error) && !this.#pool.isAged(session)) this.#renewal.tryAgain();
  }

  /**
   * Prepared statements and plans of another schema are dropped before they are used again: the server neither forgets
   * the types of parameters, nor plans a statement again because rows of a function have got other columns.
   */
  #schemaReplaced(isSame: boolean, losesTypes: boolean): void {
    if (!isSame) this.#planEpoch += 1;
    if (losesTypes) this.#renewal.run();
    this.caches.schemaRead(isSame);
  }

  /** Takes a catalogue that another worker has read. */
  async #adopt(reading: Reading): Promise<void> {
    try {
      this.schema.adopt(await inSlices(schemaOf(reading)));
    } catch (error) {
      this.#noteUnreadable(error as Error);
    }
  }

  async #readCatalogue(): Promise<Pick<Reading, 'catalogue' | 'state'>> {
    const sink = new CatalogueWriter();
    const [state] = await this.read([readOne(STATE_SQL), ...catalogueSteps(sink)], INTERNAL_READ);
    return { catalogue: sink.finish(), state: state?.[0] ?? undefined };
  }

  /** Reads one text on behalf of gw. */
  async #readOnce(text: string, rules = BACKGROUND_RULES): Promise<string> {
    const [, row] = await this.read([NO_PATH, readOne(text)], { ...INTERNAL_READ, rules });
    return row?.[0] ?? '';
  }

  #noteUnreadable({ message }: Error): void {
    this.#log.write('error', `dbrest: cannot read the schema of ${this.#name}: ${message}`);
  }

  async #open(open: DatabaseOptions['open']): Promise<Session> {
    const session = await open({
      ended: (one) => this.#pool.discard(one),
      flushed: (batches) => this.#metrics.flushed(batches),
    });
    const what = 'a connection takes one request at a time, whose statements are not prepared';
    if (session.isPooled && this.#share.tellsPooler())
      this.#log.write('notice', `dbrest: a connection pooler stands in front of ${this.#name}: ${what}`);
    return session;
  }
}
