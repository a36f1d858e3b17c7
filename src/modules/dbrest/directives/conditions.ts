import { directivesFor, readers } from '../../../config/index.ts';

/** How states of rows are told apart. */
export interface ConditionsConfig {
  readonly etag: boolean;
}

const EVERYWHERE = ['http', 'server', 'location'] as const;

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
});
