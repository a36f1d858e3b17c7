import type { Exchange } from '../../../http/index.ts';
import { notAcceptable, notSingular } from '../fault/index.ts';
import type { Media } from '../headers/index.ts';
import { contentType } from '../headers/index.ts';
import type { AnswerShape } from '../sql/index.ts';
import { ELEMENT_SEPARATOR } from '../sql/index.ts';
import type { AnswerCounts, AnswerParts, EmptyAnswer, Tail } from './answer.ts';
import { BytesAnswer, RowsAnswer } from './answer.ts';
import type { RowWriter } from './row-writer.ts';
import { csvWriter, joined, xmlWriter } from './row-writer.ts';

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
export interface AnswerPlan extends Pick<AnswerParts, 'head' | 'most' | 'held'> {
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
