import { chooseMedia, customMedia, isAny, isAsked, type Media, type RequestHead } from '../request/index.ts';
import type { MediaHandler, RoleSettings } from '../schema/index.ts';
import { type Context, isInert, type ReadPlan } from './node.ts';

/**
 * The shape of the rows that the database returns. The last column is always the number of rows in this response.
 * `whole`: one row with the JSON array; `first`: the first row as JSON; `rows`: one JSON text per row; `columns`: the
 * plain columns; `handled`: one row with the result of the media handler; `counted`: one row without a body, for HEAD.
 */
export type RowShape = 'whole' | 'first' | 'rows' | 'columns' | 'handled' | 'counted';

/** Shapes with one row for all rows of the response. */
const IN_ONE_ROW: ReadonlySet<RowShape> = new Set(['whole', 'handled', 'counted']);

/** Additional columns after those of a row, in this order; the number of rows comes last. */
export interface RowTail {
  /** `response.headers` and `response.status`. */
  readonly response: boolean;
  /** The number of rows without limit and offset. */
  readonly total: boolean;
  /** If there are no rows, one row of nulls carries these columns. */
  readonly padded: boolean;
  /** The column with the version of the one row; its text comes before the others. */
  readonly version?: string | undefined;
}

/** The way in which rows are returned by the database and turned into a response. */
export interface RowForm {
  readonly media: Media;
  readonly shape: RowShape;
  /** The most rows that are needed; all of them if absent. */
  readonly most?: number | undefined;
  /** Absent for a query plan, whose rows are its lines. */
  readonly tail: RowTail | undefined;
}

const COUNT_ALONE = { response: false, total: false, padded: false } as const satisfies RowTail;

/** The settings of the role, and the column with the versions of the rows. */
export interface FormContext {
  readonly roleSettings: RoleSettings | undefined;
  readonly version: string | undefined;
}

/** The additional columns of a shape. */
export function tailOf(
  { format }: Media,
  shape: RowShape,
  { total, response, version }: Omit<RowTail, 'padded'> = COUNT_ALONE,
): RowTail | undefined {
  if (format === 'plan') return undefined;
  if (version !== undefined) return { ...COUNT_ALONE, version };
  if (!total && !response) return COUNT_ALONE;
  return { response, total, padded: !IN_ONE_ROW.has(shape) };
}

/** The additional columns of a read. Its functions may set the response settings; they need a row to run for. */
export function tailOfRead(
  media: Media,
  shape: RowShape,
  { rows, version }: { readonly rows: ReadPlan; readonly version: string | undefined },
): RowTail | undefined {
  const isQuiet = !shownMedia(media).handler && isInert(rows);
  if (isQuiet || media.plan) return tailOf(media, shape, { total: false, response: false, version });
  return { ...COUNT_ALONE, response: true, version };
}

/** The media type of the rows; for a query plan that of the explained response. */
export function shownMedia(media: Media): Media {
  return media.plan?.media ?? media;
}

/** The planned rows for which a media type is chosen. */
interface ShowableRows {
  readonly rows: ReadPlan;
  /** Media handlers that accept the rows, in order of preference. */
  readonly handlers: readonly MediaHandler[];
  /** The media type of the result itself. */
  readonly mediaType: string | undefined;
  /** The rows are values of a function that are not XML. */
  readonly lacksXml: boolean;
  /** The response contains the rows, so they must fit its format. */
  readonly isShown: boolean;
}

const EMBEDDABLE: ReadonlySet<Media['format']> = new Set(['json', 'object', 'geojson', 'custom']);
/** Formats of a single column. */
const NARROW: ReadonlySet<Media['format']> = new Set(['text', 'binary']);

/** Chooses the media type of a response from `Accept`. Throws PGRST107. */
export function chooseForm(
  { accepted, features }: RequestHead,
  { rows, handlers, mediaType, lacksXml, isShown }: ShowableRows,
  mayExplain: boolean,
): Media {
  const servable = ({ format, plan: question }: Media): boolean => {
    if (format === 'plan') return mayExplain && question !== undefined && servable(question.media);
    if (format === 'geojson' && features?.geoSchema === undefined) return false;
    if (format === 'xml' && lacksXml) return false;
    if (NARROW.has(format) && isShown && !isNarrow(rows)) return false;
    // Embeds need a format that can nest.
    return EMBEDDABLE.has(format) || rows.embeds.length === 0;
  };
  return chooseMedia(accepted, servable, (type) => {
    if (mediaType !== undefined && isAsked(mediaType, type)) return customMedia(mediaType);
    const handler = handlers.find((one) => {
      return isAsked(one.mediaType, type) && (one.table || !isAny(one.mediaType) || isAny(type));
    });
    return handler && customMedia(handler.mediaType, handler);
  });
}

/** Returns whether rows have a single column. */
function isNarrow({ outputs, table }: ReadPlan): boolean {
  return outputs.length === 1 && (outputs[0]?.kind !== 'all' || table.columns.size === 1);
}

/** For more rows, gw assembles the array, so that neither side has to hold all of it. */
const MOST_WHOLE_ROWS = 1_000;

/** The shape that a media type needs. */
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

/** Formats for which the response head depends on the rows only by their number. */
const COUNTABLE: ReadonlySet<Media['format']> = new Set(['json', 'object', 'csv', 'xml', 'geojson']);

/**
 * The shape of the rows of a table. Without a body their number is enough, unless a function runs that may set headers.
 */
export function readShape(media: Media, rows: ReadPlan, isBodyless: boolean): RowShape {
  const isCounted = isBodyless && COUNTABLE.has(media.format) && isInert(rows);
  return isCounted ? 'counted' : shapeOf(shownMedia(media), rows.limit);
}

/** Without a body, one row shows whether the rows fit the format; the count includes the others. */
const MOST_BODYLESS_ROWS = 1;

/** The most rows that are needed to respond; `undefined` for all of them. */
export function mostRows({ format }: Media, shape: RowShape, isBodyless: boolean): number | undefined {
  if (format === 'binary') return 1;
  return isBodyless && !IN_ONE_ROW.has(shape) ? MOST_BODYLESS_ROWS : undefined;
}

/** Formats that cannot represent every number of rows or columns. */
const CONSTRAINED: ReadonlySet<Media['format']> = new Set(['object', 'binary', 'text']);

/** Returns whether a format may not fit the rows; a write is then checked before its commit. */
export function isConstrained({ format }: Media): boolean {
  return CONSTRAINED.has(format);
}

/**
 * The media handlers that accept the rows of a read, nearest in the search path first, but those of the table for all
 * types before the others (PostgREST, "The Any Handler"). A handler for a table needs all columns of that table.
 */
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
  const own = near.filter(isOwn).sort((a, b) => Number(isAny(b.mediaType)) - Number(isAny(a.mediaType)));
  return [...own, ...near.filter((one) => !one.table)];
}
