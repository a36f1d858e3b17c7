import { dirname, resolve } from 'node:path';
import { type ConfigReport, moduleFor, type WorkerScope } from '../../contract/index.ts';
import { isRead, type KnowsHost } from '../../http/index.ts';
import { endpointsOf } from '../../redis/index.ts';
import { type Membership, type UpstreamGroup, upstreamKey } from '../../upstream/index.ts';
import { compileApi } from './api.ts';
import { GroupChanges } from './changes.ts';
import { directives, type DynamicUpstreamsConfig, NEEDED, type SourceKind, sourceOf } from './directives.ts';
import { openEvents } from './events.ts';
import { Journal } from './journal.ts';
import { type SourceAccess, Refresh, type SourceLease } from './refresh.ts';
import { consulSource } from './sources/consul.ts';
import { dnsSource } from './sources/dns.ts';
import { fileSource } from './sources/file.ts';
import { httpSource } from './sources/http.ts';
import { redisSource } from './sources/redis.ts';

export type { DynamicUpstreamsConfig } from './directives.ts';

type ApiConfig = DynamicUpstreamsConfig & { readonly target: string };

/** The resources of a location with the API. */
interface Resources {
  readonly group: UpstreamGroup;
  /** Absent if the group cannot be changed. */
  readonly changes: GroupChanges | undefined;
  readonly knowsHost: KnowsHost;
}

/** A group that the gateways of a cluster share. */
interface Shared {
  readonly config: ApiConfig;
  readonly changes: GroupChanges;
  readonly group: UpstreamGroup;
  readonly membership: Membership;
}

const shared = { sharesMembers: true } as const;

function validate(config: DynamicUpstreamsConfig, report: ConfigReport<DynamicUpstreamsConfig>): void {
  const { target, eventsZone, eventsChannel } = config;
  if (target === undefined) report.on('api', 'requires "dynamic_upstreams_target"');
  const source = sourceOf(config);
  if (source !== 'static') {
    const [field, directive] = NEEDED[source];
    if (config[field] === undefined) report.on('source', `"${source}" requires "${directive}"`);
  }
  if ((eventsZone === undefined) !== (eventsChannel === undefined)) {
    const [field, other] =
      eventsZone === undefined ? (['eventsChannel', 'zone'] as const) : (['eventsZone', 'channel'] as const);
    report.on(field, `requires "dynamic_upstreams_worker_events_${other}"`);
  }
}

/** Finds the group. A missing one was refused when the configuration was loaded. */
function groupOf({ target }: ApiConfig, { upstreams }: WorkerScope): UpstreamGroup {
  const group = upstreams.block({ host: target });
  if (!group) throw new Error(`upstream "${target}" is unknown in this worker`);
  return group;
}

async function provision(config: ApiConfig, worker: WorkerScope): Promise<Resources> {
  const group = groupOf(config, worker);
  const { membership } = group;
  const knowsHost = (host: string): boolean => worker.view.knowsHost(host);
  if (!membership) return { group, changes: undefined, knowsHost };
  const source = sourceOf(config);
  const target = { target: config.target, source, membership };
  const { configured } = group;
  const journal =
    config.journal === undefined
      ? undefined
      : new Journal({ ...target, configured, path: resolve(worker.prefix, config.journal) }, worker);
  const publish = openEvents({ zone: config.eventsZone, channel: config.eventsChannel }, worker);
  const changes = new GroupChanges(target, { journal, publish, log: worker.log });
  membership.changedBy(changes);
  await changes.restore();
  const lease = shareMembers({ config, changes, group, membership }, worker);
  const open = openerOf(config, source, worker);
  if (open) await startRefresh({ asked: { open, lease }, config, source }, { membership, changes, worker });
  return { group, changes, knowsHost };
}

/** Shares the members with the gateways of a cluster, if there is one. Only one of them asks the source at a time. */
function shareMembers(
  { config, changes, group, membership }: Shared,
  worker: WorkerScope,
): SourceLease | undefined {
  const cluster = config.cluster === undefined ? undefined : worker.clusters.get(config.cluster);
  if (!cluster) return undefined;
  const follow: GroupChanges['follow'] = (theirs, next) => changes.follow(theirs, next);
  const name = upstreamKey(group.name);
  const shared = { name, configured: group.configured, membership, follow };
  const { upstreams, plan } = cluster;
  worker.own(upstreams.share(shared), (end) => end());
  return { hold: (ttlMs) => upstreams.lease(`up:${name}`, ttlMs), startMs: plan.timeoutMs };
}

async function startRefresh(
  { asked, config, source }: { asked: SourceAccess; config: ApiConfig; source: SourceKind },
  { membership, changes, worker }: { membership: Membership; changes: GroupChanges; worker: WorkerScope },
): Promise<void> {
  const accepts = config.empty ?? (source === 'dns' || source === 'consul' ? 'accept' : 'keep');
  const { target, refreshMs } = config;
  const options = { target, source, refreshMs, acceptsEmpty: accepts === 'accept' };
  const refresh = worker.own(new Refresh(asked, { membership, changes }, { options, worker }), (opened) =>
    opened.close(),
  );
  await refresh.start();
}

/** Returns the function that opens the source of a group; `undefined` if only the API changes the group. */
function openerOf(
  config: ApiConfig,
  source: SourceKind,
  worker: WorkerScope,
): SourceAccess['open'] | undefined {
  switch (source) {
    case 'static':
      return undefined;
    case 'file':
      return () => fileSource(resolve(worker.prefix, config.sourceFile as string));
    case 'http':
      return () => httpSource(config.http as string, config.httpHeaders ?? []);
    case 'consul':
      return () => consulSource(config as ApiConfig & { consulService: string });
    case 'redis': {
      const { address, key } = config.redis as NonNullable<ApiConfig['redis']>;
      const endpoints = endpointsOf(address, (name) => worker.upstream(name));
      return () => redisSource(endpoints, key);
    }
    case 'dns': {
      const name = config.dns as NonNullable<ApiConfig['dns']>;
      const lookUp = worker.upstreams.memberLookup(config.target, name);
      if (!lookUp) throw new Error(`no resolver defined for the names of upstream "${config.target}"`);
      return () => dnsSource(lookUp);
    }
  }
}

/** Groups of servers whose peers change at run time. */
export const dynamicUpstreams = moduleFor<DynamicUpstreamsConfig>()<Resources>({
  name: 'dynamic_upstreams',
  summary: 'The servers of a group, changed while it serves.',
  directives,
  content: 'api',
  enabled: ({ api }) => api === true,
  validate,
  sensitive: ({ api }) =>
    api ? { rule: 'upstream-api-open', field: 'api', methods: ['PUT', 'PATCH'] } : undefined,
  writes: ({ journal }) => (journal === undefined ? {} : { sharedDirectories: [dirname(journal)] }),
  uses: ({ target, eventsZone, cluster }) => [
    ...(target === undefined
      ? []
      : [{ kind: 'upstream', name: target, field: 'target', ...(cluster !== undefined && shared) } as const]),
    ...(eventsZone === undefined ? [] : [{ kind: 'ring', name: eventsZone, field: 'eventsZone' } as const]),
    ...(cluster === undefined ? [] : [{ kind: 'cluster', name: cluster, field: 'cluster' } as const]),
  ],
  provision: (config, worker) => provision(config as ApiConfig, worker),
  compile: (config, resources, build) => ({
    content: compileApi(sourceOf(config), resources, build),
    quiet: true,
  }),
  explanation: {
    provision: (config, scope) => ({
      group: groupOf(config as ApiConfig, scope),
      changes: undefined,
      knowsHost: () => true,
    }),
    explain: ({ target = '', cluster, ...config }) => ({
      content: (x) => ({
        does: isRead(x) ? 'shows the peers of an upstream' : 'changes the peers of an upstream',
        facts: [
          { label: 'upstream', value: target },
          { label: 'source', value: sourceOf(config) },
          ...(cluster === undefined ? [] : [{ label: 'cluster', value: cluster }]),
        ],
        unknown: 'the response',
      }),
    }),
  },
  rules: () => import('./rules.ts'),
});
