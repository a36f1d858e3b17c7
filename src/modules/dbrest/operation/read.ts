import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { RestDatabase } from '../database.ts';
import { contentRange, type Media, only, rangeStatus, type RowRange, rowRange } from '../headers/index.ts';
import { isInert, mediaHandlersOf, planRead, type ReadPlan } from '../plan/index.ts';
import { type AnswerCounts, type AnswerStart, mostRows, openAnswer, shapeOf } from '../response/index.ts';
import { parseReadQuery } from '../request/index.ts';
import type { Leftovers, Results, Step } from '../session/index.ts';
import { setHead } from './answer-head.ts';
import type { Asker } from './asker.ts';
import { type Asked, compileAsking } from './asking.ts';
import { counting } from './counting.ts';
import { chooseShown, isDescribed, rangeHeaders, shownSql } from './showing.ts';
import { compileTransaction } from './transaction.ts';
import { withSchema } from './with-schema.ts';

/** All that is decided of a read before the database sees it. */
interface Decided {
  readonly asked: Asked;
  readonly range: RowRange;
  readonly plan: ReadPlan;
  readonly media: Media;
}

/** GET and HEAD of a table: headers and query → plan → one batch → answer. */
export function compileRead(
  config: DbrestConfig,
  database: RestDatabase,
): (x: Exchange, table: string, asker: Asker) => Promise<void> {
  const decide = compileDecision(config, database);
  const transaction = compileTransaction(config, database);
  const leavesOf = ({ plan, media }: Decided): Leftovers =>
    config.preRequest || media.handler || media.plan?.media.handler || !isInert(plan)
      ? 'settings'
      : 'nothing';

  return async (x, table, asker) => {
    const { watch } = asker;
    const decided = await decide(x, table, asker);
    const { asked, plan, range, media } = decided;
    const preferences = only(asked.preferences, ['count', 'tx', 'handling', 'timeZone']);
    const counted = counting(media.plan ? undefined : preferences.count, plan, config.maxRows);
    const head = ({ rows }: AnswerCounts, results: Results): AnswerStart => {
      watch?.lap('transaction');
      const total = counted.total(sent.counts(results));
      const status = rangeStatus(range, rows, total);
      const chosen = sent.responses(results);
      const own = rangeHeaders(media, contentRange(range, rows, total));
      return setHead(x, chosen, { status, config, schema: asked.schema, preferences, own, watch });
    };
    const shape = shapeOf(media.plan?.media ?? media, plan.limit);
    const most = mostRows(media.plan?.media ?? media, shape, x.method);
    const answer = openAnswer(x, { media, shape, head, most });
    const described = isDescribed(media, shape);
    const main: Step = {
      statement: shownSql(plan, { media, shape, facts: asked.facts }, { most }),
      sink: answer,
      ...(described && { described }),
    };
    const sent = transaction(x, { ...asker, asked }, { counts: counted.steps, main, readOnly: true });
    await database.read(sent.steps, { reader: x, rules: config, leaves: leavesOf(decided) });
    await answer.end();
  };
}

function compileDecision(config: DbrestConfig, database: RestDatabase) {
  const { extraSearchPath, maxRows, aggregates } = config;
  const ask = compileAsking(config, database);
  return async (x: Exchange, table: string, { identity, watch }: Asker): Promise<Decided> => {
    const asked = await ask(x);
    const { schema } = asked;
    const request = parseReadQuery(x.args);
    const range = rowRange(request, x.header('range'), maxRows);
    watch?.lap('parse');
    const searchPath = [schema, ...extraSearchPath];
    const target = { schema, table, role: identity.role, searchPath, maxRows, aggregates };
    const { offset, limit } = range;
    const ranged = limit === undefined ? { ...request, offset } : { ...request, offset, limit };
    const { plan, handlers } = await withSchema(database, (known) => {
      const found = planRead(ranged, target, known);
      return { plan: found, handlers: mediaHandlersOf(found, { ...target, known }) };
    });
    const media = chooseShown(asked, { rows: plan, handlers }, config);
    watch?.lap('plan');
    return { asked, range, plan, media };
  };
}
