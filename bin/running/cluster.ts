import { columns, visible } from '../terminal.ts';
import { callControl, type ControlOptions, fail, findControl } from './control-client.ts';

/** Options of `gw cluster status`. */
export interface ClusterOptions extends ControlOptions {
  readonly json?: boolean;
}

/** A cluster in a response of `control_api cluster`. */
interface ShownCluster {
  readonly name: string;
  readonly node_id: string;
  readonly backend?: string;
  readonly state: string;
  readonly reason?: string;
  readonly members_total: number;
  readonly members: readonly {
    readonly node_id: string;
    readonly version: string;
    readonly age_ms: number;
  }[];
  readonly streams: readonly {
    readonly stream: string;
    readonly position: number;
    readonly lag_ms: number;
    readonly gaps: number;
  }[];
  readonly buffer_bytes: number;
}

/** `gw cluster status`: prints the clusters of the running gateway. Exit code 1: it did not respond, or a store is away. */
export async function clusterStatus({ json, ...options }: ClusterOptions): Promise<number> {
  const target = findControl('cluster', options);
  if (typeof target === 'string') return fail(target);
  try {
    const { status, body } = await callControl(target, {});
    if (status !== 200) return fail(`gw: ${target.url} responds with ${status}`);
    const { clusters } = JSON.parse(body) as { clusters: readonly ShownCluster[] };
    process.stdout.write(json ? `${JSON.stringify(clusters)}\n` : clusters.map(textOf).join('\n'));
    return clusters.every(({ state }) => state === 'up') ? 0 : 1;
  } catch (error) {
    return fail(`gw: ${visible((error as Error).message)}`);
  }
}

function textOf(cluster: ShownCluster): string {
  const {
    name,
    node_id: nodeId,
    backend = '',
    state,
    reason,
    members,
    streams,
    buffer_bytes: waiting,
  } = cluster;
  const why = reason === undefined ? '' : ` (${reason})`;
  const head = `cluster ${name}: node ${nodeId}, store ${backend} ${state}${why}, ${waiting} bytes wait\n`;
  const nodes = [
    ['NODE', 'VERSION', 'HEARTBEAT'],
    ...members.map(({ node_id: id, version, age_ms: ageMs }) => [
      visible(id),
      visible(version),
      `${(ageMs / 1000).toFixed(1)} s ago`,
    ]),
  ];
  const more = cluster.members_total - members.length;
  const rows = [
    ['STREAM', 'POSITION', 'LAG', 'GAPS'],
    ...streams.map(({ stream, position, lag_ms: lagMs, gaps }) => [
      visible(stream),
      String(position),
      `${lagMs} ms`,
      String(gaps),
    ]),
  ];
  const others = more > 0 && members.length > 0 ? `and ${more} others\n` : '';
  return `${visible(head.trimEnd())}\n\n${columns(nodes)}${others}\n${columns(rows)}`;
}
