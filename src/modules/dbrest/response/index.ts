import type { Exchange } from '../../../http/index.ts';
import {
  malformedResponseHeaders,
  malformedResponseStatus,
  notAcceptable,
  notSingular,
} from '../fault/index.ts';
import { contentType, type Media } from '../headers/index.ts';
import { isObject } from '../json.ts';
import { type AnswerShape, ELEMENT_SEPARATOR } from '../sql/index.ts';
import {
  type AnswerCounts,
  type AnswerParts,
  BytesAnswer,
  type EmptyAnswer,
  RowsAnswer,
  type Tail,
} from './body.ts';
import { csvWriter, joined, type RowWriter, xmlWriter } from './writer.ts';

export { type AnswerCounts, type AnswerParts, type AnswerStart, EmptyAnswer } from './body.ts';
export { faultOf, sendFault } from './fault.ts';

/** What the database decided about an answer: `response.headers` and `response.status`. */
export interface ResponseSettings {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly status?: number;
}

/** The two settings as they were left, '' or null when nothing was set. Throws PGRST111 and PGRST112. */
export function responseSettings(headers: string | null, status: string | null): ResponseSettings {
  return {
    headers: headers ? readHeaders(headers) : [],
    ...(status && { status: readStatus(status) }),
  };
}

function readHeaders(json: string): [name: string, value: string][] {
  const list = parse(json);
  if (!Array.isArray(list)) throw malformedResponseHeaders();
  return list.map((item: unknown) => {
    const [pair, ...others] = isObject(item) ? Object.entries(item) : [];
    if (!pair || others.length > 0 || typeof pair[1] !== 'string') throw malformedResponseHeaders();
    return [pair[0], pair[1]];
  });
}

/** Not 1xx, which would not be the answer, and nothing that HTTP has no room for. */
function readStatus(text: string): number {
  if (!/^[2-5]\d\d$/.test(text)) throw malformedResponseStatus();
  return Number(text);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Above so many rows an array is put together here, and not by the database: neither side has to hold all of it. */
const MOST_WHOLE_ROWS = 1_000;

/** The shape in which the database gives what a media type needs. */
export function shapeOf({ format, handler }: Media, limit: number | undefined): AnswerShape {
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

/** How many of the rows are needed to answer; `undefined`: all of them. */
export function mostRows({ format }: Media, shape: AnswerShape, method: string): number | undefined {
  if (format === 'binary') return 1;
  // Of a short answer HEAD tells the length; a long one is not built for nobody.
  return method === 'HEAD' && shape !== 'whole' && shape !== 'handled' ? MOST_WHOLE_ROWS : undefined;
}

/** What decides how an answer is put together. */
interface AnswerPlan extends Pick<AnswerParts, 'head' | 'most' | 'held'> {
  readonly media: Media;
  readonly shape: AnswerShape;
  /** As the statement says: the rows come with their total, with what the database decides about the answer. */
  readonly counted?: boolean;
  readonly responding?: boolean;
  /** Throws when there are too many or too few rows. */
  readonly guard?: (counts: AnswerCounts) => void;
}

/** An answer that takes rows. */
export type OpenAnswer = RowsAnswer | BytesAnswer | EmptyAnswer;

/** The answer of a media type, for rows of the shape that goes with it. */
export function openAnswer(
  x: Exchange,
  { media, shape, head, most, held, guard, ...extra }: AnswerPlan,
): RowsAnswer | BytesAnswer {
  const type = contentType(media);
  const check = checkOf(media, guard);
  const tail = media.format === 'plan' ? undefined : tailOf(shape, extra);
  const parts = { contentType: type, head, check, most, tail, held };
  if (media.format === 'binary' || media.format === 'custom') return new BytesAnswer(x, parts);
  return new RowsAnswer(x, { ...parts, writer: writerOf(media, shape) });
}

/** What comes with rows of a shape. */
export function tailOf(
  shape: AnswerShape,
  { counted: total = false, responding: response = false }: Pick<AnswerPlan, 'counted' | 'responding'>,
): Tail {
  return { response, total, padded: (response || total) && shape !== 'whole' && shape !== 'handled' };
}

function writerOf({ format }: Media, shape: AnswerShape): RowWriter {
  switch (format) {
    case 'csv':
      return csvWriter();
    case 'xml':
      return xmlWriter();
    case 'geojson':
      return joined('{"type" : "FeatureCollection", "features" : [', ELEMENT_SEPARATOR, ']}');
    case 'plan':
      return joined('', '\n', '');
    case 'text':
    case 'binary':
    case 'custom':
      return joined('', '', '');
    case 'json':
    case 'object':
      return shape === 'rows' ? joined('[', ELEMENT_SEPARATOR, ']') : { ...joined('', '', ''), none: 'null' };
  }
}

function checkOf({ format, name }: Media, guard?: AnswerPlan['guard']): NonNullable<AnswerParts['check']> {
  return (columns, counts) => {
    const { rows } = counts;
    if (format === 'object' && rows !== 1) throw notSingular(rows);
    const single = format === 'binary' ? rows === 1 && columns.length === 1 : columns.length === 1;
    if ((format === 'binary' || format === 'text') && !single) throw notAcceptable([name]);
    guard?.(counts);
  };
}
