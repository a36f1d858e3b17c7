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
    default:
      return 'columns';
  }
}

/** The answer of a media type, for rows of the shape that goes with it. */
export function openAnswer(
  x: Exchange,
  {
    media,
    shape,
    head,
  }: { readonly media: Media; readonly shape: AnswerShape; readonly head: AnswerParts['head'] },
): RowsAnswer | BytesAnswer {
  const type = contentType(media);
  const check = checkOf(media);
  if (media.format === 'binary') return new BytesAnswer(x, { contentType: type, head, check });
  const numbered = media.format !== 'plan';
  return new RowsAnswer(x, { contentType: type, head, check, numbered, writer: writerOf(media, shape) });
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
    default:
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
