import type { Exchange } from '../../../http/index.ts';
import type { Identity } from '../auth/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import type { Plan } from '../plan/index.ts';
import { preferredTimeMs } from '../request/index.ts';
import type { Isolation } from '../schema/index.ts';
import { callSql, RESPONSE_SETTINGS } from './shape.ts';
import { compileSettings, type SharedView } from './settings.ts';
import { BEGIN, ROLLBACK, type Step } from './statement.ts';

/** The statements of a request between its settings and the end of its transaction. */
export interface Work {
  /** Counts for the head of the response. */
  readonly counts: readonly Step[];
  readonly main: Step;
  /** Run after the main statement. */
  readonly behind?: readonly Step[];
  /** A statement may set the response settings, so they are read at the end. */
  readonly responds?: boolean;
  /** The transaction is always rolled back. */
  readonly undone?: boolean;
  /** The transaction stays open until the results have been checked. */
  readonly held?: boolean;
  readonly readOnly: boolean;
  /** It may be retried on another connection. Statements with effects are never sent twice. */
  readonly repeatable: boolean;
  /** What it may leave behind in the session, if known. */
  readonly leaves?: 'nothing' | 'sequences' | 'settings' | undefined;
  /** Overrides `dbrest_timeout`; 0 means none. */
  readonly timeoutMs?: number | undefined;
  /** Overrides that of the role. */
  readonly isolation?: Isolation | undefined;
  /** It calls no function by name that could have effects outside of the transaction. */
  readonly contained: boolean;
}

/** The statements of one transaction, with the indexes of their results. */
export interface Statements extends Pick<Work, 'held' | 'isolation' | 'leaves' | 'repeatable' | 'timeoutMs'> {
  readonly before: readonly Step[];
  readonly main: Step;
  readonly after: readonly Step[];
  /** The index of the settings in `before`. */
  readonly settingsAt: number;
  /** The call of `dbrest_pre_request`. */
  readonly preRequest: Step | undefined;
  /** The index of the first count; the counts precede the main statement. */
  readonly firstCount: number;
  /** The index of the row that ends with the response settings; absent if nothing can set them. */
  readonly response: number | undefined;
  /** The time zone that the client asks for. */
  readonly timeZone: string | undefined;
  /**
   * The text that the costs of the transaction are known by, if it may share a session: it must end by itself, and may be
   * rolled back and run again.
   */
  readonly shares: string | undefined;
}

/** A prepared request, which may be one of several that share a transaction. */
interface PreparedWork {
  readonly plan: RunPlan;
  readonly work: Work;
  /** Present if the transaction begins and ends elsewhere. */
  readonly within?: WithinTransaction;
  /** Present if others may get the response. */
  readonly shared?: SharedView | undefined;
}

/** A transaction that requests share. */
export interface WithinTransaction {
  /** None of its requests writes. */
  readonly readOnly: boolean;
  /** A request before this one has set the time zone. */
  readonly clearsTimeZone: boolean;
}

/** Deferred constraints are checked, so that a request fails with a rollback as it would with a commit. */
const CHECK_DEFERRED: Step = {
  statement: { text: 'set constraints all immediate', values: [] },
  silent: true,
};
const CLEAR_TIME_ZONE: Step = {
  statement: { text: 'set local timezone to default', values: [] },
  silent: true,
};
/**
 * A transaction that has become read-only stays so, but a subtransaction is so by itself (PostgreSQL source,
 * `CommitSubTransaction`).
 */
const ENCLOSE: Step = { statement: { text: 'savepoint gw_read', values: [] }, silent: true };
const RELEASE: Step = { statement: { text: 'release savepoint gw_read', values: [] }, silent: true };
const READ_RESPONSE: Step = { statement: RESPONSE_SETTINGS };
const NONE: readonly Step[] = [];

/** A plan that runs statements; OPTIONS needs none. */
export type RunPlan = Exclude<Plan, { readonly kind: 'options' }>;

/** Compiles the transaction of a location: settings, `dbrest_pre_request`, the work, the end of the transaction. */
export function compileTransaction(
  config: DbrestConfig,
  requestId?: (x: Exchange) => string | undefined,
): (x: Exchange, identity: Identity, prepared: PreparedWork) => Statements {
  const settings = compileSettings(config, requestId);
  const preRequest: readonly Step[] = config.preRequest ? [{ statement: callSql(config.preRequest) }] : [];

  return (x, identity, { plan: { request, preferences, roleSettings }, work, within, shared }) => {
    const { counts, main, behind = NONE, responds = false, repeatable, leaves, readOnly } = work;
    const { enclose, release } = enclosure(work, within);
    const held = !within && work.held === true;
    const isUndone = !within && (work.undone === true || rollsBack(config, preferences));
    const { timeZone } = preferences;
    const timeoutMs = preferredTimeMs(preferences) ?? work.timeoutMs;
    const order = { identity, head: request.head, readOnly, timeZone, timeoutMs, roleSettings, shared };
    const begin = isUndone || held ? [BEGIN] : NONE;
    const clear = within?.clearsTimeZone ? [CLEAR_TIME_ZONE] : NONE;
    const settingsAt = begin.length + enclose.length + clear.length;
    const firstCount = settingsAt + 1 + preRequest.length;
    const ending = isUndone ? [...(readOnly ? NONE : [CHECK_DEFERRED]), ROLLBACK] : release;
    const isAsked = preRequest.length > 0 ? settingsAt + 1 : undefined;
    return {
      before: [...begin, ...enclose, ...clear, { statement: settings(x, order) }, ...preRequest, ...counts],
      main,
      after: responds ? [...behind, READ_RESPONSE, ...ending] : [...behind, ...ending],
      settingsAt,
      preRequest: preRequest[0],
      firstCount,
      response: responds ? firstCount + counts.length + 1 + behind.length : isAsked,
      held,
      repeatable,
      leaves,
      timeZone,
      timeoutMs,
      isolation: work.isolation ?? roleSettings?.isolation,
      shares:
        !isUndone && !held && timeoutMs === undefined && work.contained ? main.statement.text : undefined,
    };
  };
}

/** Steps around those of a request. */
interface Enclosure {
  readonly enclose: readonly Step[];
  readonly release: readonly Step[];
}

const ENCLOSED: Enclosure = { enclose: [ENCLOSE], release: [RELEASE] };
const BARE: Enclosure = { enclose: NONE, release: NONE };

/** The steps around a request that reads, among others that write. */
function enclosure({ readOnly }: Work, within: WithinTransaction | undefined): Enclosure {
  const isEnclosed = readOnly && within?.readOnly === false;
  return isEnclosed ? ENCLOSED : BARE;
}

/** The steps around the requests of one transaction. `held`: it stays open until the results have been checked. */
export function transactionEnds({ isUndone, held }: { readonly isUndone: boolean; readonly held: boolean }): {
  readonly opening: readonly Step[];
  readonly ending: readonly Step[];
} {
  return {
    opening: isUndone || held ? [BEGIN] : [],
    ending: isUndone ? [CHECK_DEFERRED, ROLLBACK] : [],
  };
}

/** Returns whether the transaction is rolled back; a permitted preference decides before `dbrest_tx_end`. */
export function rollsBack({ txEnd }: DbrestConfig, { tx }: Pick<RunPlan['preferences'], 'tx'>): boolean {
  return tx === undefined ? txEnd.startsWith('rollback') : tx === 'rollback';
}
