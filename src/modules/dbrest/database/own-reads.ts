import { CATALOGUE_SQL, type CatalogueWriter } from '../schema/index.ts';
import type { RunStep } from '../session/index.ts';

/** With an empty search path, types and defaults are printed with their schema, so they are valid under any path. */
export const NO_PATH = readOne(`select pg_catalog.set_config('search_path', '', true)`);

/** A statement without parameters. */
export function readOne(text: string): RunStep {
  return { statement: { text, values: [] } };
}

/** The statements that read the catalogue. */
export function catalogueSteps(sink: CatalogueWriter): readonly RunStep[] {
  return [NO_PATH, { statement: { text: CATALOGUE_SQL, values: [] }, sink }];
}
