import { directivesFor, readers } from '../config/index.ts';
import { moduleFor } from '../contract/index.ts';
import { compileRead, compileReadGate, type Exchange, isRead, type KnowsHost } from '../http/index.ts';
import { LoadTotals, type PeerView, type UpstreamGroup } from '../upstream/index.ts';
import type { Counters } from '../zone/index.ts';

/** `upstream_balancer_status` of one location. */
interface BalancerConfig {
  readonly status?: true;
}

const directives = directivesFor<BalancerConfig>()({
  upstream_balancer_status: {
    contexts: ['location'],
    args: readers.present,
    into: 'status',
    inherit: 'nameless',
    summary:
      'Shows as JSON how each upstream selects its servers, what each server got, and what became of requests that are bound to one.',
    source: 'gw',
  },
});

/** The groups of this worker, with the counts of all workers. */
interface BalancerScope {
  readonly groups: readonly UpstreamGroup[];
  readonly metrics: Counters;
  readonly knowsHost: KnowsHost;
}

/** The status of nginz's upstream-balancer module; its balancing is in `src/upstream/balancing/sticky.ts`. */
export const upstreamBalancer = moduleFor<BalancerConfig>()<BalancerScope>({
  name: 'upstream_balancer',
  summary: 'Shows how each upstream selects its servers.',
  directives,
  content: 'status',
  enabled: ({ status }) => status === true,
  sensitive: () => ({ rule: 'status-exposed', field: 'status' }),
  provision: (_config, worker) => ({
    groups: worker.upstreams.groups,
    metrics: worker.metrics,
    knowsHost: (host) => worker.view.knowsHost(host),
  }),
  compile: (_config, scope, build) => ({
    content: compileRead(statusTeller(scope), {
      gate: compileReadGate(build, scope.knowsHost),
      forbid: (x, reason) => refuse(x, 403, reason),
      refuseMethod,
    }),
    quiet: true,
  }),
  explanation: {
    explain: () => ({
      content: (x) => {
        if (isRead(x)) return { does: 'shows how upstreams select their servers', unknown: 'the numbers' };
        refuseMethod(x);
        return undefined;
      },
    }),
  },
});

function refuseMethod(x: Exchange): void {
  refuse(x, 405, 'method not allowed');
}

function refuse(x: Exchange, status: number, error: string): void {
  x.send(status, 'application/json', JSON.stringify({ module: 'upstream_balancer', status: 'error', error }));
}

function statusTeller({ groups, metrics }: BalancerScope): (x: Exchange) => void {
  return (x) => {
    const totals = new LoadTotals(metrics.read());
    x.send(200, 'application/json', JSON.stringify(statusOf(groups, totals)));
  };
}

type Event = Parameters<LoadTotals['event']>[1];

/** The counts of nginz by its names; `slow_start` rejects nothing here, since the share of such a peer grows instead. */
const EVENTS = {
  direct_peer_hits: 'direct_hit',
  hash_hits: 'hash_hit',
  key_absent_misses: 'key_absent',
  direct_peer_misses: 'direct_miss',
  fallback_next_total: 'fallback_next',
  fallback_off_total: 'fallback_off',
  cookies_issued_total: 'cookie_issued',
  cookies_rotated_total: 'cookie_rotated',
  peer_rejections_tried_total: 'rejected_tried',
  peer_rejections_unhealthy_total: 'rejected_unhealthy',
  peer_rejections_fail_window_total: 'rejected_fail_window',
  peer_rejections_max_conns_total: 'rejected_max_conns',
  peer_rejections_draining_total: 'rejected_draining',
} as const satisfies Readonly<Record<string, Event>>;

function statusOf(groups: readonly UpstreamGroup[], totals: LoadTotals): object {
  const keyed = groups.filter(({ sticky }) => sticky?.kind === 'key');
  const sum = (some: readonly UpstreamGroup[], countOf: (group: UpstreamGroup) => number): number =>
    some.reduce((all, group) => all + countOf(group), 0);
  const requestsBy = (from: 'cookie' | 'header'): number =>
    sum(
      keyed.filter(({ sticky }) => sticky?.kind === 'key' && sticky.from === from),
      ({ name }) => totals.event(name, 'request'),
    );
  const managed = groups.filter(({ membership }) => membership !== undefined);
  return {
    module: 'upstream_balancer',
    status: 'ok',
    requests_total: sum(groups, ({ name }) => totals.picks(name)),
    sticky_cookie_requests_total: requestsBy('cookie'),
    sticky_header_requests_total: requestsBy('header'),
    runtime_peer_source_requests_total: sum(managed, ({ name }) => totals.picks(name)),
    ...Object.fromEntries(
      Object.entries(EVENTS).map(([name, event]) => [
        name,
        sum(keyed, (group) => totals.event(group.name, event)),
      ]),
    ),
    peer_rejections_slow_start_total: 0,
    upstreams: groups.map((group) => groupStatus(group, totals)),
  };
}

function groupStatus(group: UpstreamGroup, totals: LoadTotals): object {
  const { name, method, membership } = group;
  const peers = group.view();
  const picks = totals.picks(name);
  return {
    upstream: name,
    method,
    sticky: stickyStatus(group, totals),
    managed: membership !== undefined,
    ...(membership && { generation: membership.set.generation }),
    picks,
    peers: peers.map((peer) => peerStatus(peer, { group, totals, picks })),
  };
}

function peerStatus(
  { address, weight, backup, state, requests, fails, member }: PeerView,
  { group, totals, picks: all }: { group: UpstreamGroup; totals: LoadTotals; picks: number },
): object {
  const { picks, failures } = totals.peer(group.name, address);
  return {
    address,
    weight,
    backup,
    ...(member.route !== undefined && { route: member.route }),
    state: state === 'unavailable' || state === 'failing' ? 'failed' : state,
    active_requests: requests,
    fails,
    picks,
    failures,
    share: all === 0 ? 0 : Math.round((picks / all) * 10_000) / 10_000,
  };
}

/** Returns the state of `sticky` without secrets; `null` if the group has none. */
function stickyStatus({ name, sticky }: UpstreamGroup, totals: LoadTotals): object | null {
  const counts = {
    bound: totals.sticky(name, 'bound'),
    moved: totals.sticky(name, 'moved'),
    new: totals.sticky(name, 'new'),
  };
  switch (sticky?.kind) {
    case undefined:
      return null;
    case 'cookie':
      return { kind: 'cookie', name: sticky.name, ...counts };
    case 'route':
      return { kind: 'route', ...counts };
    case 'learn':
      return { kind: 'learn', zone: sticky.zone, ...counts };
    case 'key':
      return {
        kind: sticky.from,
        name: sticky.name,
        fallback: sticky.isStrict ? 'off' : 'next',
        issue_cookie: sticky.issuesCookie,
        ...counts,
      };
  }
}
