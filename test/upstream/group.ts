import { load } from '../../src/pipeline.ts';
import { PeerGroup } from '../../src/upstream/peer-group.ts';
import { upstreamZone } from '../../src/upstream/index.ts';
import { createZone, PeerTable } from '../../src/zone/index.ts';
import { aloneCounters } from '../harness/counters.ts';

/** A group as one worker has it, with a clock that the test advances. */
export interface TestGroup {
  readonly group: PeerGroup;
  readonly logged: string[];
  readonly zone: SharedArrayBuffer;
  readonly clock: { second: number };
}

/** The `upstream` block with this content; given the zone of another group, it is the same block in another worker. */
export function openGroup(block: string, other?: TestGroup, threadId = 1): TestGroup {
  const text = `http { upstream u { ${block} } }`;
  const { plan, report } = load({ confFile: '/etc/gw/gw.conf', name: 'gw.conf', prefix: '/etc/gw', text });
  const [upstream] = plan?.upstreams ?? [];
  if (!upstream) throw new Error(report.faults.map(({ message }) => message).join('; '));
  const zone = other?.zone ?? createZone(upstreamZone(upstream, 2));
  const clock = other?.clock ?? { second: 1000 };
  const logged: string[] = [];
  const group = new PeerGroup(upstream, {
    table: new PeerTable(zone, threadId),
    metrics: aloneCounters(),
    log: { write: (_, line) => void logged.push(line) },
    nowMs: () => clock.second * 1000,
  });
  return { group, logged, zone, clock };
}

/** The peers that a request tries, in order; the name of the group when none is left. */
export function walk(
  { group }: TestGroup,
  ask: { key?: string; clientAddress?: string } = {},
  dead: readonly string[] = [],
): string[] {
  const hasKey = group.key?.parts.length !== 0;
  const selection = group.begin({ ...ask, ...(!hasKey && { key: '' }) });
  const seen: string[] = [];
  do {
    const peer = selection.next();
    seen.push(peer?.address ?? group.name);
    if (!peer) return seen;
    const isDead = dead.includes(peer.address);
    selection.done(isDead ? 'failed' : 'ok');
    if (!isDead) return seen;
  } while (selection.tries > 0);
  return seen;
}
