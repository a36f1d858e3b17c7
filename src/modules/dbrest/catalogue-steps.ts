import { CATALOGUE_SQL } from './schema/index.ts';
import type { CatalogueWriter } from './schema/index.ts';
import type { Step } from './session/index.ts';

/** Names of types and defaults then come with their schema: they are used under the search paths of requests. */
export const NO_PATH: Step = {
  statement: { text: `select pg_catalog.set_config('search_path', '', true)`, values: [] },
};

/** What a session runs to read the catalogue. */
export function catalogueSteps(sink: CatalogueWriter): readonly Step[] {
  return [NO_PATH, { statement: { text: CATALOGUE_SQL, values: [] }, sink }];
}
