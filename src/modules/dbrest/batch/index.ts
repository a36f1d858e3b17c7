import type { LocationFacts } from '../../../contract/index.ts';
import type { Exchange } from '../../../http/index.ts';
import type { Identity } from '../auth/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { bodyTooLarge, DbrestFault, faultOfItem, invalidItem, methodNotAllowed } from '../fault/index.ts';
import {
  checkServedHere,
  innerExchange,
  type InnerRequest,
  shownBaseOf,
  bodyLimitOf,
  appliedPreferences,
  batchPath,
  honoured,
  only,
  parsePreferences,
  type Preferences,
  receiveBody,
} from '../request/index.ts';
import { JSON_CONTENT_TYPE } from '../json.ts';
import type { PreparedPlan } from '../plan-cache/index.ts';
import { faultOf, type Stopwatch } from '../response/index.ts';
import { rollsBack } from '../sql/index.ts';
import { turnsFor } from '../event-loop.ts';
import { readItems } from './items.ts';
import { type PlannedItem, type Progress, runTransaction, type TransactionSteps } from './transaction.ts';

export { readItems } from './items.ts';

/** The identity of a batch, and its stopwatch for `Server-Timing`, if it is enabled. */
interface BatchCaller {
  readonly identity: Identity;
  readonly stopwatch?: Stopwatch | undefined;
}

/** The steps that a batch takes for each of its items, and for all of them. */
export interface BatchSteps extends TransactionSteps {
  /** Parses and plans a request. Resolves to `undefined` if its body was refused. */
  readonly prepare: (x: Exchange, role: string) => Promise<PreparedPlan | undefined>;
  /** Runs the batch, and again when the schema has changed. */
  readonly retry: (x: Exchange, run: () => Promise<void>) => Promise<void>;
}

/** The batches of a location. */
export interface Batches {
  isBatch(uri: string): boolean;
  /** Serves a batch. The promise rejects with errors that `faultOf` turns into a response. */
  serve(x: Exchange, caller: BatchCaller): Promise<void>;
}

/** Most bytes of the responses of one batch, which are kept in memory until its transaction has ended. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Compiles `dbrest_batch`; `undefined`: the location has no batches. */
export function compileBatches(
  config: DbrestConfig,
  location: LocationFacts,
  steps: BatchSteps,
): Batches | undefined {
  const path = batchPath(location, config);
  if (path === undefined) return undefined;
  const run = compileRun(config, { location, path }, steps);
  const serve: Batches['serve'] = async (x, caller) => {
    if (x.method === 'OPTIONS') return allow(x, config);
    if (x.method !== 'POST') throw methodNotAllowed(x.method, METHODS);
    const preferences = preferencesOf(x, config);
    const received = await receiveBody(x);
    if (!received) return;
    const items = await readItems(received, config.batchMax);
    caller.stopwatch?.lap('parse');
    if (items.length === 0) return x.send(200, JSON_CONTENT_TYPE, '[]');
    const progress: Progress = { item: undefined };
    try {
      await steps.retry(x, () => run(x, { items, caller, preferences, progress }));
    } catch (error) {
      throw errorOfItem(error, progress, caller.identity.role !== config.anonRole);
    }
  };
  return { isBatch: (uri) => uri === path, serve };
}

/** The location of batches. */
interface BatchLocation {
  readonly location: LocationFacts;
  readonly path: string;
}

/** Compiles the function that runs the items of a batch and responds. */
function compileRun(
  config: DbrestConfig,
  where: BatchLocation,
  steps: BatchSteps,
): (x: Exchange, batch: Batch) => Promise<void> {
  const planItem = compileItem(where, steps);
  return async (x, { items, caller, preferences, progress }) => {
    const { identity, stopwatch } = caller;
    const planned: PlannedItem[] = [];
    const turn = turnsFor(x);
    for (const [i, item] of items.entries()) {
      if (i > 0 && i % ITEMS_PER_TURN === 0) await turn();
      progress.item = i;
      planned.push(await planItem(x, item, { identity, number: i }));
    }
    progress.item = undefined;
    stopwatch?.lap('plan');
    const isUndone = rollsBack(config, preferences);
    const context = { x, identity, steps, isUndone, mostBytes: MOST_BYTES, progress };
    const pieces = await runTransaction(planned, context);
    stopwatch?.lap('transaction');
    const applied = appliedPreferences(preferences);
    if (applied !== undefined) x.response.setHeader('Preference-Applied', applied);
    if (stopwatch) x.response.setHeader('Server-Timing', stopwatch.toString());
    x.send(200, JSON_CONTENT_TYPE, Buffer.concat(pieces));
  };
}

/** Items that are planned between two yields to the event loop, which takes a millisecond or two. */
const ITEMS_PER_TURN = 20;

const METHODS = 'OPTIONS,POST';

function allow(x: Exchange, { corsOrigins }: DbrestConfig): void {
  if (corsOrigins === '*') x.response.setHeader('Access-Control-Allow-Origin', '*');
  x.response.setHeader('Allow', METHODS);
  x.send(200, '', '');
}

/** Of the preferences of a batch only `tx` and `handling` count; its items have their own. Throws PGRST122. */
function preferencesOf(x: Exchange, { txEnd }: DbrestConfig): Preferences {
  const asked = parsePreferences(x.header('prefer'));
  const mayChoose = txEnd.endsWith('-allow-override');
  return only(honoured(asked, mayChoose), ['handling', 'tx']);
}

interface Batch {
  readonly items: readonly InnerRequest[];
  readonly caller: BatchCaller;
  readonly preferences: Preferences;
  readonly progress: Progress;
}

function errorOfItem(error: unknown, { item }: Progress, authenticated: boolean): unknown {
  if (item === undefined || (error instanceof DbrestFault && error.item !== undefined)) return error;
  const fault = faultOf(error, { authenticated });
  return fault ? faultOfItem(fault, item) : error;
}

interface ItemContext {
  readonly identity: Identity;
  readonly number: number;
}

/** Compiles the planning of an item. Rejects with a fault if a batch cannot run it. */
function compileItem(
  { location, path }: BatchLocation,
  { prepare }: BatchSteps,
): (x: Exchange, item: InnerRequest, context: ItemContext) => Promise<PlannedItem> {
  const base = location.path.replace(/\/$/, '');
  const own = path.slice(base.length);
  return async (origin, item, { identity, number }) => {
    if (item.path === own) throw invalidItem('a batch contains no other batch', number);
    const shownBase = shownBaseOf(origin, own, base);
    const { x, response } = innerExchange(origin, item, { base, shownBase, mostBytes: MOST_BYTES });
    await checkServedHere(x, location);
    const prepared = await prepare(x, identity.role);
    if (!prepared) throw bodyTooLarge(bodyLimitOf(x));
    const { plan, work } = prepared;
    if (plan.kind === 'describe')
      throw invalidItem('the description of the API is not part of a batch', number);
    if (plan.form.media.plan) throw invalidItem('execution plans are not part of a batch', number);
    const { format } = plan.form.media;
    return { x, response, plan, work, isOwnJson: format === 'json' || format === 'object' };
  };
}
