import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { RestDatabase } from '../database.ts';
import { type ResponseSettings, responseSettings } from '../response/index.ts';
import type { Results, Step } from '../session/index.ts';
import { callSql, responseSettingsSql } from '../sql/index.ts';
import { type Asked, rollsBack } from './asking.ts';
import type { Asker } from './asker.ts';
import { compileSettings } from './request-settings.ts';

/** What one request runs between its settings and the end of its transaction. */
export interface Work {
  /** Read for the head of the answer. */
  readonly counts?: readonly Step[];
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
  /** Instead of `dbrest_timeout`; 0: none. */
  readonly timeoutMs?: number | undefined;
}

/** The statements of one request, and where among their results is what. */
export interface Transaction {
  readonly steps: readonly Step[];
  counts(results: Results): Results;
  main(results: Results): Results[number];
  behind(results: Results): Results;
  /** Throws PGRST111 and PGRST112. */
  responses(results: Results): ResponseSettings;
}

const BEGIN: Step = { statement: { text: 'begin', values: [] }, silent: true };
const ROLLBACK: Step = { statement: { text: 'rollback', values: [] }, silent: true };
/** What would fail a commit fails the request as well when it ends otherwise. */
const CHECK_DEFERRED: Step = {
  statement: { text: 'set constraints all immediate', values: [] },
  silent: true,
};
const READ_RESPONSE: Step = { statement: responseSettingsSql() };

/** How a location frames the work of a request: settings, `dbrest_pre_request`, the work, the end of the transaction. */
export function compileTransaction(
  config: DbrestConfig,
  { schema: cache }: Pick<RestDatabase, 'schema'>,
): (x: Exchange, asker: Asker & { readonly asked: Asked }, work: Work) => Transaction {
  const settings = compileSettings(config);
  const preRequest: readonly Step[] = config.preRequest ? [{ statement: callSql(config.preRequest) }] : [];

  return (x, { identity, asked }, work) => {
    const { counts = [], main, behind = [], responds = false, held = false, readOnly, timeoutMs } = work;
    const { schema, preferences } = asked;
    const isUndone = work.undone === true || rollsBack(config, preferences);
    const roleSettings = cache.known?.roleSettings?.get(identity.role);
    const asking = { identity, schema, readOnly, timeZone: preferences.timeZone, timeoutMs, roleSettings };
    const opening: Step[] = [...(isUndone || held ? [BEGIN] : []), { statement: settings(x, asking) }];
    const before = [...opening, ...preRequest, ...counts];
    const ending = isUndone ? [...(readOnly ? [] : [CHECK_DEFERRED]), ROLLBACK] : [];
    const after = before.length + 1;
    const response = responds ? after + behind.length : preRequest.length > 0 ? opening.length : undefined;
    return {
      steps: [...before, main, ...behind, ...(responds ? [READ_RESPONSE] : []), ...ending],
      counts: (results) => results.slice(opening.length + preRequest.length, before.length),
      main: (results) => results[before.length],
      behind: (results) => results.slice(after, after + behind.length),
      responses(results) {
        const [headers = null, status = null] =
          response === undefined ? [] : (results[response] ?? []).slice(-2);
        return responseSettings(headers, status);
      },
    };
  };
}
