import { dirname } from 'node:path';
import { type ModuleExplanation, moduleFor } from '../../contract/index.ts';
import { tellBalances } from '../../http/index.ts';
import { compileCount, compileQuotas } from './counting.ts';
import { directives, type QuotaConfig, type QuotaZone, validate } from './directives.ts';
import { memoryName, openZones, type OpenZones, stateOf } from './zones.ts';

/** An explanation reads and writes no state. */
function withoutFiles({ zones = [], ...config }: QuotaConfig): QuotaConfig {
  const without = (zone: QuotaZone): QuotaZone => {
    const { state, ...others } = zone;
    return state === undefined ? zone : others;
  };
  return { ...config, zones: zones.map(without) };
}

/** The counts exist in a running gateway only; the explanation shows the quotas and the keys. */
const explanation: ModuleExplanation<QuotaConfig, OpenZones> = {
  runs: true,
  provision: (config, scope) => openZones(withoutFiles(config), scope),
  explain: (config, zones, build) => {
    const quotas = compileQuotas(config, zones, build);
    return {
      precontent: (x) => ({
        does: `counts the request in its quotas, and refuses further ones with ${config.status}`,
        facts: quotas.map(({ zone: { name, limit, window, sharing }, keyOf }) => {
          const key = keyOf(x);
          const counted = key === '' ? 'not counted, since its key is empty' : `counted by "${key}"`;
          const whose = sharing ? ` of all gateways of cluster "${sharing.cluster}"` : '';
          return { label: 'quota', value: `"${name}", ${limit} in a ${window}${whose}: ${counted}` };
        }),
        unknown: 'the counts',
      }),
    };
  },
};

/** Quotas: so many requests for each key in fixed windows, shared by all workers. */
export const quota = moduleFor<QuotaConfig>()<OpenZones>({
  name: 'quota',
  summary: 'Quotas of requests by key: in a day, a month.',
  directives,
  enabled: ({ quotas, zones }) => quotas !== undefined || zones !== undefined,
  validate,
  zones: ({ zones = [] }) =>
    zones.flatMap((zone, index) => {
      const { name, sizeBytes, keyText, window } = zone;
      const key = `quota ${window} ${keyText}`;
      const counts = {
        name: memoryName(name),
        kind: 'request limit',
        sizeBytes,
        key,
        isCarried: true,
      } as const;
      const state = stateOf(zone);
      return [counts, ...(state ? [state] : [])].map((each) => ({
        zone: each,
        field: 'zones' as const,
        index,
      }));
    }),
  uses: ({ zones = [] }) =>
    zones.flatMap(({ sharing }, index) =>
      sharing ? [{ kind: 'cluster', name: sharing.cluster, field: 'zones', index } as const] : [],
    ),
  writes: ({ zones = [] }) => ({
    sharedDirectories: zones.flatMap(({ state }) => (state === undefined ? [] : [dirname(state)])),
  }),
  provision: openZones,
  compile: (config, zones, build) =>
    config.quotas
      ? { precontent: compileCount(config, zones, build), ...(config.headers && { filter: tellBalances }) }
      : {},
  rules: () => import('./rules.ts'),
  explanation,
});
