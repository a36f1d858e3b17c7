import type { Facts } from '../facts.ts';
import type { Media } from '../headers/index.ts';
import type { ReadPlan } from '../plan/index.ts';
import { hasEmbeds } from '../plan/index.ts';

const EMBEDDABLE: ReadonlySet<Media['format']> = new Set(['json', 'object', 'geojson']);

/** Whether rows can be answered in a format: nothing but JSON holds embeds, and features need PostGIS. */
export function servable(format: Media['format'], plan: ReadPlan, facts: Facts | undefined): boolean {
  if (format === 'geojson' && facts?.geoSchema === undefined) return false;
  return EMBEDDABLE.has(format) || !hasEmbeds(plan);
}
