import { load } from '../../src/pipeline.ts';
import { addressesZone, OpenUpstreams, upstreamZone } from '../../src/upstream/index.ts';
import { createZone } from '../../src/zone/index.ts';
import { aloneCounters } from '../harness/counters.ts';
import type { Owner } from '../harness/owner.ts';

/** The upstreams in this content of `http`, as worker 1 has them, and what they logged. */
export async function openUpstreams(
  t: Owner,
  http: string,
): Promise<{ upstreams: OpenUpstreams; logged: string[] }> {
  const loaded = load({
    confFile: '/etc/gw/gw.conf',
    name: 'gw.conf',
    prefix: '/etc/gw',
    text: `http { ${http} }`,
  });
  const { plan, report } = loaded;
  if (!plan) throw new Error(report.faults.map(({ message }) => message).join('; '));
  const declared = plan.upstreams.flatMap((upstream) => [
    upstreamZone(upstream, 1),
    addressesZone(upstream) ?? [],
  ]);
  const zones = new Map(declared.flat().map((zone) => [zone.name, createZone(zone)]));
  const logged: string[] = [];
  const upstreams = await OpenUpstreams.open(plan.upstreams, {
    workerId: 1,
    isFirst: true,
    log: { write: (_, line) => void logged.push(line) },
    metrics: aloneCounters(),
    zone: (name) => zones.get(name) as SharedArrayBuffer,
  });
  t.onTestFinished(async () => upstreams.close());
  return { upstreams, logged };
}
