import type { Exchange } from '../../http/index.ts';
import type { Identity } from './auth/index.ts';
import type { DbrestConfig } from './config.ts';
import type { Counting } from './counting.ts';
import { counting } from './counting.ts';
import type { Database } from './database.ts';
import type { Facts } from './facts.ts';
import type { Accepted, Media, Preferences, RowRange } from './headers/index.ts';
import {
  acceptedMedia,
  appliedPreferences,
  chooseMedia,
  chooseSchema,
  contentRange,
  honoured,
  parsePreferences,
  rangeStatus,
  rowRange,
} from './headers/index.ts';
import type { ReadPlan, ReadTarget } from './plan/index.ts';
import { hasEmbeds, planRead } from './plan/index.ts';
import type { ResponseSettings } from './reply/index.ts';
import { mostRows, openAnswer, responseSettings, shapeOf } from './reply/index.ts';
import type { ReadRequest } from './request/index.ts';
import { parseReadQuery } from './request/index.ts';
import { compileSettings } from './request-settings.ts';
import type { Results, Step } from './session/index.ts';
import type { AnswerShape, Statement } from './sql/index.ts';
import { answerSql, callSql, explainSql } from './sql/index.ts';
import type { Stopwatch } from './stopwatch.ts';

/** A request whose table and asker are known. */
export interface Reading {
  readonly table: string;
  readonly identity: Identity;
  readonly watch: Stopwatch | undefined;
}

/** All that is decided of a read before the database sees it. */
interface Decided {
  readonly schema: string;
  readonly range: RowRange;
  readonly preferences: Preferences;
  readonly plan: ReadPlan;
  readonly media: Media;
  readonly facts: Facts | undefined;
}

const BEGIN: Step = { statement: { text: 'begin', values: [] }, silent: true };
const ROLLBACK: Step = { statement: { text: 'rollback', values: [] }, silent: true };
const EMBEDDABLE: ReadonlySet<Media['format']> = new Set(['json', 'object', 'geojson']);

/** GET and HEAD of a table: headers and query → plan → one batch → answer. */
export function compileRead(
  config: DbrestConfig,
  database: Database,
): (x: Exchange, reading: Reading) => Promise<void> {
  const decide = compileDecision(config, database);
  const settings = compileSettings(config);
  const preRequest: readonly Step[] = config.preRequest ? [{ statement: callSql(config.preRequest) }] : [];

  return async (x, reading) => {
    const { watch, identity } = reading;
    const decided = await decide(x, reading);
    const { schema, plan, range, preferences, media } = decided;
    const opening: Step[] = [
      ...(rollsBack(config, preferences) ? [BEGIN] : []),
      { statement: settings(x, { identity, schema, timeZone: preferences.timeZone }) },
    ];
    const counted = counting(media.plan ? undefined : preferences.count, plan, config.maxRows);
    const before = [...opening, ...preRequest, ...counted.steps];
    const head = (rows: number, results: Results): number => {
      watch?.lap('transaction');
      const [, headers = null, status = null] = config.preRequest ? (results[opening.length] ?? []) : [];
      const counts = results.slice(opening.length + preRequest.length);
      const chosen = responseSettings(headers, status);
      return setHead(x, { rows, counts, counted, range, chosen, decided, config, watch });
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
    const ending = opening[0] === BEGIN ? [ROLLBACK] : [];
    await database.read([...before, main, ...ending], x, config);
    answer.end();
  };
}

function compileDecision(config: DbrestConfig, database: Database) {
  const { schemas, extraSearchPath, maxRows, aggregates } = config;
  const mayChooseEnd = config.txEnd.endsWith('-allow-override');
  return async (x: Exchange, { table, identity, watch }: Reading): Promise<Decided> => {
    const schema = chooseSchema(x.header('accept-profile'), schemas);
    const accepted = acceptedMedia(x.header('accept'));
    const asked = parsePreferences(x.header('prefer'));
    const facts = needsFacts(accepted, asked) ? await database.facts() : undefined;
    const preferences = honoured(asked, { timeZones: facts?.timeZones, tx: mayChooseEnd });
    const request = parseReadQuery(x.args);
    const range = rowRange(request, x.header('range'), maxRows);
    watch?.lap('parse');
    const searchPath = [schema, ...extraSearchPath];
    const target = { schema, table, role: identity.role, searchPath, maxRows, aggregates };
    const plan = await planned({ ...request, ...range }, target, database);
    const media = chooseMedia(accepted, ({ format, plan: question }) => {
      if (format === 'plan') return config.plan && servable(question?.media.format ?? 'json', plan, facts);
      return servable(format, plan, facts);
    });
    watch?.lap('plan');
    return { schema, range, preferences, plan, media, facts };
  };
}

function needsFacts(accepted: readonly Accepted[], { timeZone }: Preferences): boolean {
  const geographic = (media: Media | undefined): boolean =>
    media?.format === 'geojson' || (media?.plan !== undefined && geographic(media.plan.media));
  return timeZone !== undefined || accepted.some(({ media }) => geographic(media));
}

function servable(format: Media['format'], plan: ReadPlan, facts: Facts | undefined): boolean {
  if (format === 'geojson' && facts?.geoSchema === undefined) return false;
  return EMBEDDABLE.has(format) || !hasEmbeds(plan);
}

function rollsBack({ txEnd }: DbrestConfig, { tx }: Preferences): boolean {
  return tx === undefined ? txEnd.startsWith('rollback') : tx === 'rollback';
}

function mainSql({ plan, media, facts }: Decided, shape: AnswerShape, most: number | undefined): Statement {
  const { format, stripped } = media.plan?.media ?? media;
  const geoSchema = format === 'geojson' ? facts?.geoSchema : undefined;
  const statement = answerSql(plan, shape, { stripped, geoSchema, most });
  return media.plan ? explainSql(statement, media.plan.format, media.plan.options) : statement;
}

interface Head {
  readonly rows: number;
  readonly counts: Results;
  readonly counted: Counting;
  readonly range: RowRange;
  readonly chosen: ResponseSettings;
  readonly decided: Decided;
  readonly config: DbrestConfig;
  readonly watch: Stopwatch | undefined;
}

/** Sets the headers of an answer; gives its status. What the database chose itself goes before. */
function setHead(
  x: Exchange,
  { rows, counts, counted, range, chosen, decided, config, watch }: Head,
): number {
  const total = counted.total(counts);
  const status = rangeStatus(range, rows, total);
  const taken = new Set(chosen.headers.map(([name]) => name.toLowerCase()));
  const set = (name: string, value: string | undefined): void => {
    if (value !== undefined && !taken.has(name.toLowerCase())) x.setHeader(name, value);
  };
  for (const [name, value] of chosen.headers) x.setHeader(name, value);
  if (decided.media.format !== 'plan') {
    set('Content-Range', contentRange(range, rows, total));
    set('Range-Unit', 'items');
  }
  if (config.schemas.length > 1) set('Content-Profile', decided.schema);
  set('Preference-Applied', appliedPreferences(decided.preferences));
  set('Server-Timing', watch?.toString());
  return chosen.status ?? status;
}

/** Plans against the schema as known, and once more against a fresh one when a name is unknown. */
async function planned(
  request: ReadRequest,
  target: ReadTarget,
  { schema: cache }: Database,
): Promise<ReadPlan> {
  const current = cache.current();
  const known = current instanceof Promise ? await current : current;
  try {
    return planRead(request, target, known);
  } catch (error) {
    const fresh = await cache.newerThan(known);
    if (!fresh) throw error;
    return planRead(request, target, fresh);
  }
}
