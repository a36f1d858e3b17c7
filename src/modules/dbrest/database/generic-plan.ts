import { randomBytes } from 'node:crypto';
import type { Results } from '../session/index.ts';
import { BEGIN, READ_ONLY_AT, ROLLBACK, type Statements, type Step } from '../sql/index.ts';
import type { RestDatabase } from './database.ts';

type Rules = Parameters<RestDatabase['read']>[1]['rules'];

const FORCE_GENERIC: Step = {
  statement: { text: `set local plan_cache_mode = 'force_generic_plan'`, values: [] },
  silent: true,
};
/** Nobody waits for the plan. */
const NO_CLIENT = { aborted: false, onAbort: (): void => undefined };

const PLAN = 'gw.plan';

/**
 * Explains a prepared statement. An error does not end the transaction, so that the statement is closed in any case: other
 * than settings, it would outlive a rollback.
 */
const explaining = (statement: string): string => `do $$ declare plan text; begin
  execute 'explain (format json) execute ${statement}' into plan;
  perform pg_catalog.set_config('${PLAN}', plan, true);
exception when others or query_canceled then null;
end $$`;

/**
 * Asks PostgreSQL for the plan that it would take for a statement, whatever the values: nothing of it is run, in a read-only
 * transaction that is rolled back. Resolves with the JSON of `EXPLAIN`, or `null` if there is none; never rejects.
 */
export async function genericPlan(
  database: Pick<RestDatabase, 'read'>,
  { before, settingsAt, main: { statement } }: Statements,
  rules: Rules,
): Promise<unknown> {
  const settings = before[settingsAt];
  if (!settings) return null;
  const name = `gw_slow_${randomBytes(8).toString('hex')}`;
  const nulls = statement.values.map(() => 'null').join(', ');
  const run = (text: string, silent: boolean): Step => ({
    statement: { text, values: [] },
    ...(silent && { silent: true }),
  });
  const values = settings.statement.values.map((value, index) => (index === READ_ONLY_AT ? 'on' : value));
  const steps: readonly Step[] = [
    BEGIN,
    { statement: { text: settings.statement.text, values } },
    FORCE_GENERIC,
    run(`prepare ${name} as ${statement.text}`, true),
    run(explaining(`${name}${nulls && `(${nulls})`}`), true),
    run(`deallocate ${name}`, true),
    run(`select pg_catalog.current_setting('${PLAN}', true)`, false),
    ROLLBACK,
  ];
  try {
    const results = await database.read(steps, { client: NO_CLIENT, rules, leaves: 'anything' });
    return planIn(results);
  } catch {
    return null;
  }
}

const PLAN_AT = 6;

function planIn(results: Results): unknown {
  const text = results[PLAN_AT]?.[0];
  return typeof text === 'string' && text !== '' ? JSON.parse(text) : null;
}
