import type { WorkerScope } from '../../../contract/index.ts';
import {
  LoadTotals,
  MemberFault,
  type Membership,
  type PeerView,
  readPatch,
  type UpstreamGroup,
} from '../../../upstream/index.ts';
import { ControlFault } from '../endpoint.ts';
import type { GroupState, PeerState, UpstreamPage } from './contract.ts';
import type { PeerTimes } from './peer-times.ts';

/** The groups of a configuration, as the console shows and changes them. */
export class UpstreamTable {
  readonly #worker: WorkerScope;
  readonly #times: PeerTimes;

  constructor(worker: WorkerScope, times: PeerTimes) {
    this.#worker = worker;
    this.#times = times;
  }

  page(): UpstreamPage {
    const { upstreams, metrics } = this.#worker;
    const totals = new LoadTotals(metrics.read());
    return { nowMs: Date.now(), upstreams: upstreams.groups.map((group) => this.#group(group, totals)) };
  }

  /** Applies a change. Rejects with a `ControlFault` if it is refused. */
  async change(body: unknown): Promise<UpstreamPage> {
    const { upstream, patch } = readChange(body);
    const { membership } = this.#worker.upstreams.block({ host: upstream }) ?? {};
    const changes = membership?.changes ?? [];
    const [first] = changes;
    if (!first) throw new ControlFault(409, `nothing changes the peers of upstream "${upstream}"`);
    try {
      const read = readPatch(JSON.stringify(patch));
      if (read.kind === 'lists' && first.source !== 'static')
        throw new ControlFault(409, `the peers come from the source "${first.source}"`);
      first.patch(read);
    } catch (error) {
      throw error instanceof MemberFault ? new ControlFault(error.status, error.message) : error;
    }
    await Promise.all(changes.map((each) => each.written()));
    return this.page();
  }

  #group(group: UpstreamGroup, totals: LoadTotals): GroupState {
    const { name, method, membership } = group;
    const peers = group.view();
    const all = totals.picks(name);
    return {
      name,
      method,
      ...(membership && { members: memberState(membership) }),
      peers: peers.map((peer) => {
        const sinceMs = this.#times.since(name, peer);
        const shown = peerState(peer, { totals: totals.peer(name, peer.address), all });
        const drains = membership?.set.draining.includes(peer.address) ?? false;
        return { ...shown, ...(sinceMs !== undefined && { sinceMs }), drains };
      }),
    };
  }
}

function peerState(
  { address, state, weight, backup, requests, checks = [] }: PeerView,
  { totals, all }: { totals: ReturnType<LoadTotals['peer']>; all: number },
): Omit<PeerState, 'drains'> {
  const { picks, failures, times } = totals;
  return {
    address,
    state,
    weight,
    backup,
    requests,
    picks,
    share: all === 0 ? 0 : picks / all,
    failures,
    ...(times && { times }),
    probes: checks.map(({ uri, verdict, status, probedMs, spentMs }) => ({
      uri,
      verdict,
      status,
      probedMs,
      spentMs,
    })),
  };
}

function memberState({ set, changes }: Membership): NonNullable<GroupState['members']> {
  const [first] = changes;
  return {
    generation: set.generation,
    ...(first && { source: first.source }),
    lastSuccessMs: set.last_success_at_msec,
    lastErrorMs: set.last_error_at_msec,
    lastErrorCode: set.last_error_code,
    isRestored: set.restored_from_journal,
    isWritable: first?.source === 'static',
  };
}

/** Reads a change as the API would be sent it. Throws a `ControlFault`. */
function readChange(body: unknown): { readonly upstream: string; readonly patch: object } {
  const { upstream, weigh, weight, ...patch } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof upstream !== 'string') throw new ControlFault(400, 'expected "upstream"');
  if (weigh === undefined) return { upstream, patch };
  return { upstream, patch: { replace: [{ current: weigh, address: weigh, weight }], ...patch } };
}
