import { type Inspection, inspectStore } from '../../cluster/index.ts';
import type { ClusterConfig, LiveProblem, LiveScope } from '../../contract/index.ts';

type Problem = LiveProblem<ClusterConfig>;

/** Tests the running store: its policy when it is full, the number of its nodes, and their parameters. */
export async function probeCluster(_config: ClusterConfig, live: LiveScope): Promise<readonly Problem[]> {
  const { cluster } = live;
  return cluster ? problemsOf(await inspectStore(cluster, live.timeoutMs)) : [];
}

function problemsOf(inspection: Inspection): readonly Problem[] {
  if ('fault' in inspection) {
    const message = `the store cannot be used: ${inspection.fault}`;
    return [{ rule: 'cluster-store-unreachable', field: 'backend', message }];
  }
  const { policy, liveNodes, mostNodes, conflicts } = inspection;
  const problems: Problem[] = [];
  if (policy !== undefined && policy !== 'noeviction') {
    const hint = 'set it to "noeviction"';
    const message = `the store has "maxmemory-policy ${policy}"`;
    problems.push({ rule: 'cluster-store-evicts', field: 'backend', message, hint });
  }
  if (liveNodes > mostNodes) {
    const message = `${liveNodes} nodes share the store, more than the ${mostNodes} that it was tested with`;
    problems.push({ rule: 'cluster-too-large', field: 'backend', message });
  }
  for (const { node, subject } of conflicts) {
    const message = `node "${node}" has other parameters for "${subject}" than other nodes`;
    const hint = 'give all gateways the same configuration';
    problems.push({ rule: 'cluster-parameters-differ', field: 'backend', message, hint });
  }
  return problems;
}
