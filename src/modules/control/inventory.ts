import type { LocationMatch } from '../../contract/index.ts';
import type { Exchange } from '../../http/index.ts';
import { certificates } from './certificates.ts';
import { cluster } from './cluster.ts';
import { type Endpoint, sendText } from './endpoint.ts';
import { flag, flagList, flagSet, flagUnset } from './flags.ts';
import { cacheProbe, health, live, ready, sessionProbe, system } from './health.ts';
import { keyval } from './keyval/api.ts';
import { metrics } from './metrics.ts';
import { type ControlConfig, type RouteDescription, inventoryRoutes, WHOLE_INVENTORY } from './resources.ts';
import { statements } from './statements.ts';
import { metricsDescribe, metricsRender } from './statsd.ts';

/** `/runtime/describe`: gives the routes of this configuration. `inventory` is called at request time. */
function describe(inventory: () => readonly RouteDescription[]): Endpoint {
  return {
    name: 'describe',
    path: 'describe',
    description: 'the routes of the control surface, this list',
    compile({ resources: { routes }, build }) {
      build.needHeader('accept');
      return (x) => {
        x.response.setHeader('Vary', 'Accept');
        const list = routes.list(inventory());
        if (wantsJson(x)) return x.send(200, 'application/json', JSON.stringify(list.map(descriptor)));
        return sendText(x, list.map(({ path, description }) => `GET ${path}: ${description}\n`).join(''));
      };
    },
  };
}

function descriptor({ name, path, description }: RouteDescription): object {
  return { name, path, method: 'GET', description };
}

/** Tells whether the client accepts `application/json` with a quality above 0; `*` means text. */
function wantsJson(x: Exchange): boolean {
  return (x.header('accept') ?? '')
    .toLowerCase()
    .split(',')
    .some((range) => /^\s*application\/json\s*(;|$)/.test(range) && !/;\s*q=0(\.0*)?\s*(;|$)/.test(range));
}

/** The inventory: all endpoints, in the order in which `describe` lists them. */
export const ENDPOINTS: readonly Endpoint[] = [
  describe(() => ENDPOINTS),
  health,
  system,
  flag,
  flagSet,
  flagUnset,
  flagList,
  keyval,
  cacheProbe,
  sessionProbe,
  metricsRender,
  metricsDescribe,
  metrics,
  statements,
  cluster,
  certificates,
  live,
  ready,
];

/** Returns the endpoint of the whole inventory that serves a path below the prefix of a location. */
export function endpointBelow(path: string): Endpoint | undefined {
  return ENDPOINTS.find((each) => each.path === path) ?? TREES.find((each) => path.startsWith(each.path));
}

const TREES = ENDPOINTS.filter(({ isTree }) => isTree);

/** Returns the path at which a location serves an endpoint; `undefined` if it does not, or if its path is not fixed. */
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
