import type { Exchange } from '../../../http/index.ts';
import { notAcceptable, notSingular } from '../fault/index.ts';
import type { Media } from '../headers/index.ts';
import { contentType } from '../headers/index.ts';
import type { Column } from '../session/index.ts';
import type { AnswerShape } from '../sql/index.ts';
import { ELEMENT_SEPARATOR } from '../sql/index.ts';
import type { AnswerParts } from './answer.ts';
import { BytesAnswer, RowsAnswer } from './answer.ts';
import type { RowWriter } from './row-writer.ts';
import { csvWriter, joined, xmlWriter } from './row-writer.ts';

/** Above so many rows an array is put together here, and not by the database: neither side has to hold all of it. */
const MOST_WHOLE_ROWS = 1_000;

/** The shape in which the database gives what a media type needs. */
export function shapeOf({ format }: Media, limit: number | undefined): AnswerShape {
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
  }
}

/** How many of the rows are needed to answer; `undefined`: all of them. */
export function mostRows({ format }: Media, shape: AnswerShape, method: string): number | undefined {
  if (format === 'binary') return 1;
  // Of a short answer HEAD tells the length; a long one is not built for nobody.
  return method === 'HEAD' && shape !== 'whole' ? MOST_WHOLE_ROWS : undefined;
}

/** What decides how an answer is put together. */
export interface AnswerPlan extends Pick<AnswerParts, 'head' | 'most' | 'kept'> {
  readonly media: Media;
  readonly shape: AnswerShape;
}

/** The answer of a media type, for rows of the shape that goes with it. */
export function openAnswer(
  x: Exchange,
  { media, shape, head, most, kept }: AnswerPlan,
): RowsAnswer | BytesAnswer {
  const type = contentType(media);
  const check = checkOf(media);
  if (media.format === 'binary') return new BytesAnswer(x, { contentType: type, head, check });
  const numbered = media.format !== 'plan';
  return new RowsAnswer(x, {
    contentType: type,
    head,
    check,
    most,
    kept,
    numbered,
    writer: writerOf(media, shape),
  });
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
      return joined('', '', '');
    case 'json':
    case 'object':
      return shape === 'rows' ? joined('[', ELEMENT_SEPARATOR, ']') : joined('', '', '');
  }
}

function checkOf({ format, name }: Media): (columns: readonly Column[], rows: number) => void {
  return (columns, rows) => {
    if (format === 'object' && rows !== 1) throw notSingular(rows);
    const single = format === 'binary' ? rows === 1 && columns.length === 1 : columns.length === 1;
    if ((format === 'binary' || format === 'text') && !single) throw notAcceptable([name]);
  };
}
