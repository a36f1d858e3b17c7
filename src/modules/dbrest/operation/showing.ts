import type { DbrestConfig } from '../config.ts';
import type { Facts } from '../database.ts';
import { chooseMedia, customMedia, isAsked, type Media } from '../headers/index.ts';
import { hasEmbeds, type ReadPlan } from '../plan/index.ts';
import type { MediaHandler } from '../schema/index.ts';
import { type AnswerShape, answerSql, explainSql, type RowForm, type Statement } from '../sql/index.ts';
import type { Asked } from './asking.ts';

/** What the rows of an answer are, before it is known how they are shown. */
export interface Showable {
  readonly rows: ReadPlan;
  /** Aggregates of the database that can take them, the one to be preferred first. */
  readonly handlers: readonly MediaHandler[];
  /** The media type that they are already. */
  readonly mediaType?: string | undefined;
}

const EMBEDDABLE: ReadonlySet<Media['format']> = new Set(['json', 'object', 'geojson']);

/** The media type of an answer, of those that the client takes. Throws PGRST107. */
export function chooseShown(
  { accepted, facts }: Asked,
  { rows, handlers, mediaType }: Showable,
  { plan: mayExplain }: Pick<DbrestConfig, 'plan'>,
): Media {
  const servable = ({ format, plan: question }: Media): boolean => {
    if (format === 'plan') return mayExplain && question !== undefined && servable(question.media);
    if (format === 'geojson' && facts?.geoSchema === undefined) return false;
    return EMBEDDABLE.has(format) || !hasEmbeds(rows);
  };
  return chooseMedia(accepted, servable, (type) => {
    if (mediaType !== undefined && isAsked(mediaType, type)) return customMedia(mediaType);
    const handler = handlers.find(
      (one) => isAsked(one.mediaType, type) && (one.table || one.mediaType === type),
    );
    return handler && customMedia(handler.mediaType, handler);
  });
}

/** The statement whose rows are what a media type needs. */
export function shownSql(
  rows: ReadPlan,
  { media, shape, facts }: { media: Media; shape: AnswerShape; facts: Facts | undefined },
  form: Pick<RowForm, 'most' | 'source' | 'values' | 'counted' | 'responding' | 'total'>,
): Statement {
  const { format, stripped, handler } = media.plan?.media ?? media;
  const geoSchema = format === 'geojson' ? facts?.geoSchema : undefined;
  const statement = answerSql(rows, shape, { stripped, geoSchema, handler, ...form });
  return media.plan ? explainSql(statement, media.plan.format, media.plan.options) : statement;
}

/** Formats that cannot hold just any number of rows or columns: only the rows show whether they can be answered. */
const PICKY: ReadonlySet<Media['format']> = new Set(['object', 'binary', 'text']);

/** Whether rows may turn out not to fit: what made them is then looked at before it is committed. */
export function isPicky({ format }: Media): boolean {
  return PICKY.has(format);
}

/** Whether an answer is made of columns, and not of texts that are complete. */
export function isDescribed({ format }: Media, shape: AnswerShape): boolean {
  return format !== 'plan' && (shape === 'columns' || shape === 'handled');
}

/** `Content-Range` and its unit; how the database would answer has none. */
export function rangeHeaders({ format }: Media, range: string): [string, string][] {
  if (format === 'plan') return [];
  return [
    ['Content-Range', range],
    ['Range-Unit', 'items'],
  ];
}
