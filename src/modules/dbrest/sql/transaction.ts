import type { Exchange } from '../../../http/index.ts';
import type { Identity } from '../auth/index.ts';
import type { DbrestConfig } from '../directives.ts';
import type { Plan } from '../plan/index.ts';
import { callSql, RESPONSE_SETTINGS } from './shape.ts';
import { compileSettings } from './settings.ts';
import type { Step } from './statement.ts';

/** What one request runs between its settings and the end of its transaction. */
export interface Work {
  /** Read for the head of the response. */
  readonly counts: readonly Step[];
  readonly main: Step;
  /** Run behind the main statement. */
  readonly behind?: readonly Step[];
  /** Something of it may set `response.headers` or `response.status`: they are read behind it. */
  readonly responds?: boolean;
  /** The transaction ends with a rollback, whatever the location and the client say. */
  readonly undone?: boolean;
  /** The transaction is held open behind it, to be checked before it is committed. */
  readonly held?: boolean;
  readonly readOnly: boolean;
  /** It may be sent once more when its connection breaks; what may have changed something is never sent twice. */
  readonly repeatable: boolean;
  /** What it may leave in its session, where that is known. */
  readonly leaves?: 'nothing' | 'settings' | undefined;
  /** Instead of `dbrest_timeout`; 0: none. */
  readonly timeoutMs?: number | undefined;
}

/** The statements of one request, which run as one transaction, and where among their results is what. */
export interface Statements extends Pick<Work, 'held' | 'leaves' | 'repeatable' | 'timeoutMs'> {
  readonly before: readonly Step[];
  readonly main: Step;
  readonly after: readonly Step[];
  /** The place of the first count; the last stands in front of the main statement. */
  readonly firstCount: number;
  /** The place of a row that ends with `response.headers` and `response.status`; absent: nobody sets them. */
  readonly response: number | undefined;
}

const BEGIN: Step = { statement: { text: 'begin', values: [] }, silent: true };
const ROLLBACK: Step = { statement: { text: 'rollback', values: [] }, silent: true };
/** What would fail a commit fails the request as well when it ends otherwise. */
const CHECK_DEFERRED: Step = {
  statement: { text: 'set constraints all immediate', values: [] },
  silent: true,
};
const READ_RESPONSE: Step = { statement: RESPONSE_SETTINGS };

/** A plan that statements are made of: which methods there are is known without any. */
export type RunPlan = Exclude<Plan, { readonly kind: 'options' }>;

/** How a location frames the work of a request: settings, `dbrest_pre_request`, the work, the end of the transaction. */
export function compileTransaction(
  config: DbrestConfig,
): (x: Exchange, who: { readonly identity: Identity; readonly plan: RunPlan }, work: Work) => Statements {
  const settings = compileSettings(config);
  const preRequest: readonly Step[] = config.preRequest ? [{ statement: callSql(config.preRequest) }] : [];

  return (x, { identity, plan: { request, preferences, roleSettings } }, work) => {
    const { counts, main, behind = [], responds = false, held = false, readOnly, timeoutMs } = work;
    const { repeatable, leaves } = work;
    const isUndone = work.undone === true || rollsBack(config, preferences);
    const { schema } = request.head;
    const order = { identity, schema, readOnly, timeZone: preferences.timeZone, timeoutMs, roleSettings };
    const opening: Step[] = [...(isUndone || held ? [BEGIN] : []), { statement: settings(x, order) }];
    const firstCount = opening.length + preRequest.length;
    const ending = isUndone ? [...(readOnly ? [] : [CHECK_DEFERRED]), ROLLBACK] : [];
    const isAsked = preRequest.length > 0 ? opening.length : undefined;
    return {
      before: [...opening, ...preRequest, ...counts],
      main,
      after: [...behind, ...(responds ? [READ_RESPONSE] : []), ...ending],
      firstCount,
      response: responds ? firstCount + counts.length + 1 + behind.length : isAsked,
      held,
      repeatable,
      leaves,
      timeoutMs,
    };
  };
}

/** Whether the transaction of a request ends with a rollback: the request's choice where it has one. */
function rollsBack({ txEnd }: DbrestConfig, { tx }: RunPlan['preferences']): boolean {
  return tx === undefined ? txEnd.startsWith('rollback') : tx === 'rollback';
}
