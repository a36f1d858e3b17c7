import { type PurgeSharing, sharePurges } from '../../cache/index.ts';
import {
  type ConfigReport,
  moduleFor,
  type VariableDefinition,
  type WorkerScope,
} from '../../contract/index.ts';
import { compilePurgeApi, type PurgeScope, refuseLarge } from './api.ts';
import { type CachePurgeConfig, directives } from './directives.ts';
import { openPurgeEvents } from './events.ts';
import { compileTagsApi, LAST_PURGE, type TagPurge, type TagsScope } from './tags.ts';
import { meansAll, type Targets, targetsOf } from './targets.ts';

export type { CachePurgeConfig } from './directives.ts';

/** The resources of a location, which serves one of the two APIs. */
interface Resources {
  readonly purge?: PurgeScope;
  readonly tags?: TagsScope;
  /** Adds the other gateways to the targets if the location shares its purges. */
  readonly share: (targets: Targets, sharing: PurgeSharing) => Targets;
}

function validate(config: CachePurgeConfig, report: ConfigReport<CachePurgeConfig>): void {
  const { api, tagsApi, zone, authorize, allowlist, eventsZone, eventsChannel } = config;
  if (!api && !tagsApi) return;
  if (api && zone === undefined) report.on('api', 'requires "cache_purge_zone"');
  if (authorize === 'allowlist' && !allowlist)
    report.on('authorize', '"allowlist" requires "cache_purge_allowlist"');
  if (authorize === 'off' && allowlist)
    report.warn('allowlist', 'has no effect without "cache_purge_authorize allowlist"');
  if (!api) return;
  if ((eventsZone === undefined) !== (eventsChannel === undefined)) {
    const [field, other] =
      eventsZone === undefined ? (['eventsChannel', 'zone'] as const) : (['eventsZone', 'channel'] as const);
    report.warn(field, `publishes nothing without "cache_purge_worker_events_${other}"`);
  }
}

function provision(config: CachePurgeConfig, worker: WorkerScope): Resources {
  const { zone, tagsApi } = config;
  const knowsHost = (host: string): boolean => worker.view.knowsHost(host);
  const { caches, metrics } = worker;
  const share: Resources['share'] = (targets, sharing) => {
    const others = sharePurges(targets.stores, sharing, worker);
    return { ...targets, others };
  };
  if (tagsApi)
    return { tags: { targets: { stores: [...caches.values()], kind: 'tag' }, metrics, knowsHost }, share };
  if (zone === undefined) return { share };
  const publish = openPurgeEvents(config, worker);
  return { purge: { zone, targets: targetsOf(zone, config, caches), publish, knowsHost }, share };
}

const told = (summary: string, read: (purge: TagPurge) => string): VariableDefinition => ({
  summary,
  live: true,
  volatile: true,
  compile: () => (x) => {
    const last = x.state(LAST_PURGE);
    return last ? read(last) : '';
  },
});

/** Removing stored responses over HTTP: by key, prefix or tag. */
export const cachePurge = moduleFor<CachePurgeConfig>()<Resources>({
  name: 'cache_purge',
  summary: 'Removes stored responses by key, prefix or tag.',
  directives,
  content: ['api', 'tagsApi'],
  variables: {
    cache_tags_last_purged: told(
      'Number of responses that this request to "cache_tags_purge" removed.',
      (last) => String(last.purged ?? ''),
    ),
    cache_tags_last_tag: told('The tag that it named.', ({ tag }) => tag),
    cache_tags_last_error: told('Why it removed nothing.', ({ error = '' }) => error),
  },
  enabled: ({ api, tagsApi }) => api === true || tagsApi === true,
  validate,
  sensitive: ({ api, tagsApi, authorize }) => {
    if (authorize !== 'off') return undefined;
    if (tagsApi) return { rule: 'cache-purge-open', field: 'tagsApi', methods: ['DELETE'] };
    return api ? { rule: 'cache-purge-open', field: 'api', methods: ['POST'] } : undefined;
  },
  uses: (config) => {
    const { api, zone, eventsZone } = config;
    return [
      ...(api && zone !== undefined && !meansAll(zone, config)
        ? [{ kind: 'cache', name: zone, field: 'zone' } as const]
        : []),
      ...(api && eventsZone !== undefined
        ? [{ kind: 'ring', name: eventsZone, field: 'eventsZone' } as const]
        : []),
    ];
  },
  provision,
  compile(config, { purge, tags, share }, build) {
    if (tags) {
      const targets = share(tags.targets, build.core);
      return { content: compileTagsApi(config, { ...tags, targets }, build), quiet: true };
    }
    if (!purge) return {};
    const targets = share(purge.targets, build.core);
    const content = compilePurgeApi(config, { ...purge, targets }, build);
    return { content, tooLarge: refuseLarge, quiet: true };
  },
  explanation: {
    provision: () => ({ share: (targets) => targets }),
    explain: ({ zone = '', match, tagsApi }, _resources, { core: { purgeCluster } }) => ({
      content: () => ({
        does: tagsApi ? 'shows or purges the tags of all caches' : 'removes stored responses',
        facts: [
          ...(tagsApi
            ? []
            : [
                { label: 'cache', value: zone },
                { label: 'match', value: match },
              ]),
          ...(purgeCluster === undefined ? [] : [{ label: 'cluster', value: purgeCluster }]),
        ],
        unknown: 'the response',
      }),
    }),
  },
  rules: () => import('./rules.ts'),
});
