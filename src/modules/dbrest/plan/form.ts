import { chooseMedia, customMedia, isAsked, type Media, type RequestHead } from '../request/index.ts';
import type { MediaHandler } from '../schema/index.ts';
import type { Context, ReadPlan } from './node.ts';

/**
 * How the rows of a read come back. In each, the last column is the number of all rows (of this response, not of the table):
 * `whole`: one row, the JSON array as one text; `first`: the first row as JSON; `rows`: one JSON text per row;
 * `columns`: the columns themselves; `handled`: one row, what the handler makes of them.
 */
export type RowShape = 'whole' | 'first' | 'rows' | 'columns' | 'handled';

/** What stands behind the columns of a row, in this order; the number of rows comes last. */
export interface RowTail {
  /** `response.headers` and `response.status`. */
  readonly response: boolean;
  /** The number of rows without their range. */
  readonly total: boolean;
  /** Where there is no row, one of nulls has it. */
  readonly padded: boolean;
}

/** In which form rows come from the database, and become a response. */
export interface RowForm {
  readonly media: Media;
  readonly shape: RowShape;
  /** How many of the rows are needed; absent: all of them. */
  readonly most?: number | undefined;
  /** Absent: the rows are lines of a query plan, with nothing behind them. */
  readonly tail: RowTail | undefined;
}

const COUNT_ALONE: RowTail = { response: false, total: false, padded: false };

/** What stands behind rows of a shape. */
export function tailOf(
  { format }: Media,
  shape: RowShape,
  { total, response }: Pick<RowTail, 'total' | 'response'> = COUNT_ALONE,
): RowTail | undefined {
  if (format === 'plan') return undefined;
  if (!total && !response) return COUNT_ALONE;
  return { response, total, padded: shape !== 'whole' && shape !== 'handled' };
}

/** What is shown: of a query plan, what it is the plan of. */
export function shownMedia(media: Media): Media {
  return media.plan?.media ?? media;
}

/** What rows are, before it is known how they are shown. */
export interface ShowableRows {
  readonly rows: ReadPlan;
  /** Aggregates of the database that can take them, the one to be preferred first. */
  readonly handlers: readonly MediaHandler[];
  /** The media type that they are already. */
  readonly mediaType: string | undefined;
}

const EMBEDDABLE: ReadonlySet<Media['format']> = new Set(['json', 'object', 'geojson']);

/** The media type of a response, of those that the client takes. Throws PGRST107. */
export function chooseForm(
  { accepted, features }: RequestHead,
  { rows, handlers, mediaType }: ShowableRows,
  mayExplain: boolean,
): Media {
  const servable = ({ format, plan: question }: Media): boolean => {
    if (format === 'plan') return mayExplain && question !== undefined && servable(question.media);
    if (format === 'geojson' && features?.geoSchema === undefined) return false;
    // Only JSON can hold more than columns of a table.
    return EMBEDDABLE.has(format) || rows.embeds.length === 0;
  };
  return chooseMedia(accepted, servable, (type) => {
    if (mediaType !== undefined && isAsked(mediaType, type)) return customMedia(mediaType);
    const handler = handlers.find(
      (one) => isAsked(one.mediaType, type) && (one.table || one.mediaType === type),
    );
    return handler && customMedia(handler.mediaType, handler);
  });
}

/** Above so many rows an array is put together here, and not by the database: neither side has to hold all of it. */
const MOST_WHOLE_ROWS = 1_000;

/** The shape in which the database gives what a media type needs. */
export function shapeOf({ format, handler }: Media, limit: number | undefined): RowShape {
  switch (format) {
    case 'json':
      return limit !== undefined && limit <= MOST_WHOLE_ROWS ? 'whole' : 'rows';
    case 'object':
      return 'first';
    case 'geojson':
      return 'rows';
    case 'csv':
    case 'xml':
    case 'text':
    case 'binary':
    case 'plan':
      return 'columns';
    case 'custom':
      return handler ? 'handled' : 'columns';
  }
}

/** How many of the rows are needed to respond; `undefined`: all of them. */
export function mostRows({ format }: Media, shape: RowShape, method: string): number | undefined {
  if (format === 'binary') return 1;
  // Of a short response HEAD tells the length; a long one is not built for nobody.
  return method === 'HEAD' && shape !== 'whole' && shape !== 'handled' ? MOST_WHOLE_ROWS : undefined;
}

/** Formats that cannot hold just any number of rows or columns: only the rows show whether they fit. */
const CONSTRAINED: ReadonlySet<Media['format']> = new Set(['object', 'binary', 'text']);

/** Whether rows may turn out not to fit: what made them is then looked at before it is committed. */
export function isConstrained({ format }: Media): boolean {
  return CONSTRAINED.has(format);
}

/** The aggregates that can take the rows of a read, nearest first: those of its table need all of its columns. */
export function mediaHandlersOf(
  plan: ReadPlan,
  { known, schema, searchPath = [schema] }: Context,
): MediaHandler[] {
  const handlers = known.mediaHandlers ?? [];
  if (handlers.length === 0) return [];
  const { table, outputs, embeds } = plan;
  const isWhole = embeds.length === 0 && outputs.every(({ kind }) => kind === 'all');
  const isOwn = (one: MediaHandler): boolean => {
    return isWhole && one.table?.schema === table.schema && one.table.name === table.name;
  };
  const near = [...new Set(searchPath)].flatMap((name) => handlers.filter((one) => one.schema === name));
  return [...near.filter(isOwn), ...near.filter((one) => !one.table)];
}
