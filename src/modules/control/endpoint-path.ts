import type { LocationMatch } from '../../contract/index.ts';
import { WHOLE_INVENTORY } from './config.ts';
import type { ControlConfig } from './config.ts';
import { ENDPOINTS } from './endpoints.ts';
import { inventoryRoutes } from './routes.ts';

/** The path at which a location serves an endpoint; `undefined` when it does not, or when no path can be told. */
export function endpointPath(
  name: string,
  { api }: Pick<ControlConfig, 'api'>,
  match: LocationMatch | undefined,
): string | undefined {
  if (match?.kind !== 'prefix' && match?.kind !== 'exact') return undefined;
  if (api === name) return match.path;
  if (api !== WHOLE_INVENTORY) return undefined;
  const routes = inventoryRoutes(ENDPOINTS, { ...match, place: '', nameless: false });
  return routes.find((route) => route.name === name)?.path;
}
