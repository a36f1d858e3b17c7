import { type ClusterStatus, conflictText, subjectText } from '../../src/cluster/index.ts';
import { columns, visible } from '../terminal.ts';
import { callControl, type ControlOptions, fail, findControl } from './control-client.ts';

/** Options of `gw cluster status`. */
export interface ClusterOptions extends ControlOptions {
  readonly json?: boolean;
}

/** A cluster in a response of `control_api cluster`. The store is absent at first, warnings in older gateways. */
type ShownCluster = { readonly name: string } & Omit<ClusterStatus, 'backend' | 'warnings'> &
  Partial<Pick<ClusterStatus, 'backend' | 'warnings'>>;

/** `gw cluster status`: prints the clusters of the running gateway. Exit code 1: it did not respond, or a store is away. */
export async function clusterStatus({ json, ...options }: ClusterOptions): Promise<number> {
  const target = findControl('cluster', options);
  if (typeof target === 'string') return fail(target);
  try {
    const { status, body } = await callControl(target, {});
    if (status !== 200) return fail(`gw: ${target.url} responds with ${status}`);
    const { clusters } = JSON.parse(body) as { clusters: readonly ShownCluster[] };
    process.stdout.write(json ? `${JSON.stringify(clusters)}\n` : tableOf(clusters));
    return clusters.every(({ state }) => state === 'up') ? 0 : 1;
  } catch (error) {
    return fail(`gw: ${visible((error as Error).message)}`);
  }
}

function tableOf(clusters: readonly ShownCluster[]): string {
  if (clusters.length === 0) return 'no clusters\n';
  return clusters
    .map((cluster) => [headOf(cluster), membersOf(cluster), streamsOf(cluster)].filter(Boolean).join('\n'))
    .join('\n\n');
}

function headOf(cluster: ShownCluster): string {
  const {
    name,
    node_id: nodeId,
    backend,
    state,
    reason,
    conflicts,
    warnings = [],
    buffer_bytes: waiting,
  } = cluster;
  const title = `cluster ${name}: ${reason === undefined ? state : `${state}, ${reason}`}`;
  const facts = [
    ['this node', nodeId],
    ['store', backend ?? 'not asked yet'],
    ['buffer', waiting === 0 ? 'empty' : `${waiting} bytes wait for the store`],
    ...warnings.map((warning) => ['warning', warning]),
    ...conflicts.map(({ stream, node_id: other }) => ['conflict', conflictText(stream, other)]),
  ];
  return `${visible(title)}\n${columns(facts.map((row) => row.map(visible)))}`;
}

function membersOf({ node_id: nodeId, members, members_total: total }: ShownCluster): string {
  if (total === 0) return '';
  const more = total - members.length;
  if (members.length === 0) return `${total} nodes\n`;
  const rows = members.map(
    ({ node_id: id, version, age_ms: ageMs, configuration, loaded_age_ms: loadedMs }) => [
      visible(id === nodeId ? `${id} (this node)` : id),
      visible(version),
      `${(ageMs / 1000).toFixed(1)} s ago`,
      ...(configuration === '' ? ['', ''] : [visible(configuration), agoText(loadedMs)]),
    ],
  );
  const others = more > 0 ? `and ${more} more nodes\n` : '';
  return `${columns([['NODE', 'VERSION', 'LAST HEARTBEAT', 'CONFIGURATION', 'LOADED'], ...rows])}${others}`;
}

const UNITS = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
] as const;

/** Formats a time: `12 s ago`, or `5 min ago` from two minutes on. */
function agoText(ms: number): string {
  const unit = UNITS.find((one) => ms >= 2 * one.ms) ?? { name: 's', ms: 1_000 };
  return `${Math.floor(ms / unit.ms)} ${unit.name} ago`;
}

function streamsOf({ streams }: ShownCluster): string {
  if (streams.length === 0) return '';
  const rows = streams.map(({ stream, position, lag_ms: lagMs, gaps }) => [
    visible(stream),
    visible(subjectText(stream)),
    String(position),
    `${lagMs} ms`,
    String(gaps),
  ]);
  return columns([['STREAM', 'CARRIES', 'POSITION', 'LAG', 'GAPS'], ...rows]);
}
