import { dirname } from 'node:path';
import {
  type ExplainedAction,
  type ExplainedFact,
  type LocationFacts,
  type LocationParts,
  type ModuleExplanation,
  moduleFor,
  type Explainer,
  type ZoneNeed,
} from '../../contract/index.ts';
import { type Handler, isRead } from '../../http/index.ts';
import { LOG_TAIL, stateZone } from '../../zone/index.ts';
import { compileConsole } from './console/console.ts';
import { prepareConsole } from './console/history.ts';
import { TIMELINE_ZONES } from './console/timeline.ts';
import { directives, validate } from './directives.ts';
import { type Endpoint, guardEndpoint, refuse, type Surface } from './endpoint.ts';
import { dictionaryAsked, flagVariables } from './flags.ts';
import { endpointBelow, ENDPOINTS } from './inventory.ts';
import { keyvalVariables } from './keyval/variables.ts';
import { metrics, withFlagMetrics } from './metrics.ts';
import { compilePrometheus } from './prometheus.ts';
import {
  type ControlConfig,
  type ControlResources,
  type DictionaryConfig,
  inventoryRoutes,
  openResources,
  prefixOf,
  singleRoute,
  WHOLE_INVENTORY,
} from './resources.ts';

export { endpointPath } from './inventory.ts';
export type { ControlConfig } from './resources.ts';

/** Explains which endpoint would serve a request. The console's own resources come from the process. */
const explanation: ModuleExplanation<ControlConfig, ControlResources> = {
  provision: (config, scope) => openResources({ ...config, ...withoutFiles(config), console: false }, scope),
  explain: (config, _resources, { location }) => {
    const { api, console, prometheus } = config;
    if (console) return { content: () => ({ does: 'serves the console' }) };
    if (prometheus) return { content: tellPrometheus };
    return api === undefined ? {} : { content: tellEndpoint(api, config, location) };
  },
};

/** An explanation reads and writes no state. */
function withoutFiles({ dictionaries = [] }: ControlConfig): Pick<ControlConfig, 'dictionaries'> {
  const without = ({ keyval, ...dictionary }: DictionaryConfig): DictionaryConfig =>
    keyval ? { ...dictionary, keyval: { matching: keyval.matching } } : dictionary;
  return { dictionaries: dictionaries.map(without) };
}

const tellPrometheus: Explainer = (x) => {
  if (isRead(x)) return { does: 'shows metrics under the names of nginz', unknown: 'the numbers' };
  x.end(405);
  return undefined;
};

function tellEndpoint(api: string, config: ControlConfig, location: LocationFacts): Explainer {
  const prefix = prefixOf(location);
  const endpointFor = (uri: string): Endpoint | undefined =>
    api === WHOLE_INVENTORY ? below(uri, prefix) : ENDPOINTS.find(({ name }) => name === api);
  return (x): ExplainedAction | undefined => {
    const endpoint = endpointFor(x.uri);
    if (!endpoint) {
      refuse(x, 404, `unknown endpoint: see ${prefix}describe`);
      return undefined;
    }
    if (!endpoint.isTree && !isRead(x)) {
      x.response.setHeader('Allow', 'GET, HEAD');
      refuse(x, 405, 'method not allowed');
      return undefined;
    }
    return {
      does: `serves the endpoint "${endpoint.name}"`,
      facts: [
        {
          label: 'endpoint',
          value: `${endpoint.description}${endpoint.writes ? ' (it changes something)' : ''}`,
        },
        ...(endpoint.needsFlags ? tellDictionary(x.args, config) : []),
      ],
      unknown: 'the state of the gateway',
    };
  };
}

function below(uri: string, prefix: string): Endpoint | undefined {
  return uri.startsWith(prefix) ? endpointBelow(uri.slice(prefix.length)) : undefined;
}

/** Names the dictionary of the endpoint and the cluster that shares it. */
function tellDictionary(args: string, config: ControlConfig): readonly ExplainedFact[] {
  const asked = dictionaryAsked(args, config);
  const known = config.dictionaries?.find(({ name }) => name === asked);
  if (!known) return [];
  const whose = known.cluster === undefined ? '' : `, shared by all gateways of cluster "${known.cluster}"`;
  return [{ label: 'flags in', value: `${known.name}${whose}` }];
}

/** `sync` of NGINX Plus, which names no cluster. */
const ONLY_CLUSTER = { kind: 'only cluster', name: 'sync' } as const;

/** The zones of the dictionaries, each once: a second one of a name has been reported. */
function dictionaryZones(dictionaries: readonly DictionaryConfig[]): readonly ZoneNeed<ControlConfig>[] {
  const names = dictionaries.map(({ name }) => name);
  return dictionaries.flatMap(({ name, sizeBytes, evict, cluster, isSynced, keyval }, index) => {
    if (names.indexOf(name) !== index) return [];
    const zone = {
      name,
      kind: 'dictionary',
      sizeBytes,
      ...((cluster !== undefined || isSynced) && { isShared: true }),
      ...(evict && { evicts: true }),
      ...(keyval && { isKeyval: true }),
    } as const;
    return [{ zone, field: 'dictionaries', index }];
  });
}

/** The control surface: a JSON API for operators, dictionaries in shared memory, and feature flags kept in them. */
export const control = moduleFor<ControlConfig>()<ControlResources>({
  name: 'control',
  summary: 'Health, metrics, flags and the console, for operators.',
  directives,
  content: ['api', 'console', 'prometheus'],
  enabled: ({ api, prometheus, console, consoleApi, dictionaries, flags, keyvals }) =>
    console ||
    consoleApi ||
    [api, prometheus, dictionaries, flags, keyvals].some((part) => part !== undefined),
  validate,

  showsRequestCounts: ({ api, prometheus, console }) =>
    console ||
    prometheus === true ||
    api === WHOLE_INVENTORY ||
    ENDPOINTS.some((endpoint) => endpoint.name === api && endpoint.showsRequestCounts),

  sensitive: ({ api, prometheus, console }) => {
    if (console) return { rule: 'control-public', field: 'console' };
    if (prometheus) return { rule: 'status-exposed', field: 'prometheus' };
    if (api === undefined || isHarmless(api)) return undefined;
    return { rule: api === metrics.name ? 'status-exposed' : 'control-public', field: 'api' };
  },

  zones: ({ dictionaries = [], console }) => [
    ...dictionaryZones(dictionaries),
    ...dictionaries.flatMap(({ name, sizeBytes, keyval }, index) => {
      const { state } = keyval ?? {};
      const field = 'dictionaries' as const;
      return state === undefined ? [] : [{ zone: stateZone({ name, sizeBytes, state }), field, index }];
    }),
    ...(console ? [LOG_TAIL, ...TIMELINE_ZONES].map((zone) => ({ zone, field: 'console' as const })) : []),
  ],

  uses: ({ dictionaries = [] }) =>
    dictionaries.flatMap(({ cluster: name, isSynced }, index) => {
      if (!isSynced && name === undefined) return [];
      const used = isSynced ? ONLY_CLUSTER : ({ kind: 'cluster', name: name ?? '' } as const);
      return [{ ...used, field: 'dictionaries' as const, index }];
    }),

  writes: ({ dictionaries = [] }) => ({
    sharedDirectories: dictionaries.flatMap(({ keyval }) =>
      keyval?.state === undefined ? [] : [dirname(keyval.state)],
    ),
  }),

  prepare(configs, master) {
    if (configs.some(({ console }) => console)) prepareConsole(master);
  },

  provision: async (config, worker) => withFlagMetrics(config, await openResources(config, worker)),
  defines: (config, resources) => ({
    ...flagVariables(config, resources),
    ...keyvalVariables(config, resources),
  }),

  compile: (config, resources, build) => partsOf({ config, resources, build }),

  rules: () => import('./rules.ts'),
  explanation,
});

/** Endpoints that show no more than whether the gateway is healthy need no guard. */
function isHarmless(api: string): boolean {
  return ENDPOINTS.some(({ name, harmless }) => name === api && harmless);
}

function partsOf(surface: Surface): LocationParts {
  const {
    config: { api, prometheus },
    resources: { console },
  } = surface;
  if (prometheus) return { content: compilePrometheus(surface.resources, surface.build), quiet: true };
  if (console) return { content: compileConsole(surface, console), quiet: true, slashRedirect: true };
  return api === undefined ? {} : { content: compileApi(api, surface), slashRedirect: true };
}

function compileApi(api: string, surface: Surface): Handler {
  return api === WHOLE_INVENTORY ? compileInventory(surface) : compileSingle(api, surface);
}

function compileSingle(name: string, surface: Surface): Handler {
  const endpoint = ENDPOINTS.find((candidate) => candidate.name === name);
  if (!endpoint) throw new Error(`unknown endpoint "${name}": the plan and this worker disagree`);
  surface.resources.routes.add(singleRoute(endpoint, surface.build.location));
  return guardEndpoint(endpoint, surface);
}

function compileInventory(surface: Surface): Handler {
  const { location } = surface.build;
  const prefix = prefixOf(location);
  surface.resources.routes.add(inventoryRoutes(ENDPOINTS, location));
  const handlers = new Map(ENDPOINTS.map((endpoint) => [endpoint, guardEndpoint(endpoint, surface)]));
  return (x) => {
    const endpoint = below(x.uri, prefix);
    const handler = endpoint && handlers.get(endpoint);
    return handler ? handler(x) : refuse(x, 404, `unknown endpoint: see ${prefix}describe`);
  };
}
