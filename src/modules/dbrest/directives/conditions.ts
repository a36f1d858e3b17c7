import { directivesFor, readers } from '../../../config/index.ts';

/** How states of rows are told apart. */
export interface ConditionsConfig {
  readonly etag: boolean;
  /** The column with the version of a row. */
  readonly rowVersion?: string;
}

const EVERYWHERE = ['http', 'server', 'location'] as const;

/** PostgreSQL cuts longer names off. */
const LONGEST_NAME = 63;

const column = readers.oneWord<string>('column | xmin', ({ value, span }, { directive, report }) => {
  if (value !== '' && !value.includes('\0') && Buffer.byteLength(value) <= LONGEST_NAME) return value;
  report.emerg(`invalid column "${value}" in "${directive}" directive`, span);
  return undefined;
});

/** How states of rows are told apart. */
export const conditionsDirectives = directivesFor<ConditionsConfig>()({
  dbrest_etag: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'etag',
    default: true,
    defaultText: 'on',
    summary:
      'Whether reads of tables, views and functions (GET and HEAD) have an ETag of their bytes, and respond with 304 where "If-None-Match" names it. Streamed responses, which are larger than 256 KB, have none.',
    source: 'gw',
  },
  dbrest_row_version: {
    contexts: EVERYWHERE,
    args: column,
    into: 'rowVersion',
    summary:
      'The column that changes with each change of its row, or "xmin", which PostgreSQL keeps itself: the ETag of a single row begins with it, and "If-Match" lets PATCH, PUT and DELETE change rows of these versions alone (412 otherwise).',
    source: 'gw',
  },
});
