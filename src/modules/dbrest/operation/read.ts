import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../config.ts';
import type { Database } from '../database.ts';
import type { Media, RowRange } from '../headers/index.ts';
import { chooseMedia, contentRange, only, rangeStatus, rowRange } from '../headers/index.ts';
import type { ReadPlan } from '../plan/index.ts';
import { planRead } from '../plan/index.ts';
import { mostRows, openAnswer, shapeOf } from '../reply/index.ts';
import { parseReadQuery } from '../request/index.ts';
import type { Results, Step } from '../session/index.ts';
import type { AnswerShape, Statement } from '../sql/index.ts';
import { answerSql, explainSql } from '../sql/index.ts';
import { setHead } from './answer-head.ts';
import type { Asker } from './asker.ts';
import type { Asked } from './asking.ts';
import { compileAsking } from './asking.ts';
import { counting } from './counting.ts';
import { servable } from './servable.ts';
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
  database: Database,
): (x: Exchange, table: string, asker: Asker) => Promise<void> {
  const decide = compileDecision(config, database);
  const transaction = compileTransaction(config);

  return async (x, table, asker) => {
    const { watch } = asker;
    const decided = await decide(x, table, asker);
    const { asked, plan, range, media } = decided;
    const preferences = only(asked.preferences, ['count', 'tx', 'handling', 'timeZone']);
    const counted = counting(media.plan ? undefined : preferences.count, plan, config.maxRows);
    const head = (rows: number, results: Results): number => {
      watch?.lap('transaction');
      const total = counted.total(sent.counts(results));
      const status = rangeStatus(range, rows, total);
      const chosen = sent.responses(results);
      const own = media.format === 'plan' ? [] : rangeHeaders(range, rows, total);
      setHead(x, chosen, { config, schema: asked.schema, preferences, own, watch });
      return chosen.status ?? status;
    };
    const shape = shapeOf(media.plan?.media ?? media, plan.limit);
    const most = mostRows(media.plan?.media ?? media, shape, x.method);
    const answer = openAnswer(x, { media, shape, head, most });
    const described = media.format !== 'plan' && shape === 'columns';
    const main: Step = {
      statement: mainSql(decided, shape, most),
      sink: answer,
      ...(described && { described }),
    };
    const sent = transaction(x, { ...asker, asked }, { counts: counted.steps, main, readOnly: true });
    await database.read(sent.steps, x, config);
    await answer.end();
  };
}

function rangeHeaders(range: RowRange, rows: number, total: number | undefined): [string, string][] {
  return [
    ['Content-Range', contentRange(range, rows, total)],
    ['Range-Unit', 'items'],
  ];
}

function compileDecision(config: DbrestConfig, database: Database) {
  const { extraSearchPath, maxRows, aggregates } = config;
  const ask = compileAsking(config, database);
  return async (x: Exchange, table: string, { identity, watch }: Asker): Promise<Decided> => {
    const asked = await ask(x);
    const { schema, accepted, facts } = asked;
    const request = parseReadQuery(x.args);
    const range = rowRange(request, x.header('range'), maxRows);
    watch?.lap('parse');
    const searchPath = [schema, ...extraSearchPath];
    const target = { schema, table, role: identity.role, searchPath, maxRows, aggregates };
    const { offset, limit } = range;
    const ranged = limit === undefined ? { ...request, offset } : { ...request, offset, limit };
    const plan = await withSchema(database, (known) => planRead(ranged, target, known));
    const media = chooseMedia(accepted, ({ format, plan: question }) => {
      if (format === 'plan') return config.plan && servable(question?.media.format ?? 'json', plan, facts);
      return servable(format, plan, facts);
    });
    watch?.lap('plan');
    return { asked, range, plan, media };
  };
}

function mainSql(
  { plan, media, asked: { facts } }: Decided,
  shape: AnswerShape,
  most: number | undefined,
): Statement {
  const { format, stripped } = media.plan?.media ?? media;
  const geoSchema = format === 'geojson' ? facts?.geoSchema : undefined;
  const statement = answerSql(plan, shape, { stripped, geoSchema, most });
  return media.plan ? explainSql(statement, media.plan.format, media.plan.options) : statement;
}
