import type { Metric } from '../../zone/index.ts';
import type { ClusterNode } from '../node/index.ts';
import { type SessionGroup, SessionsSubject } from './sessions-subject.ts';
import type { Leaving, Sharing } from './sharing.ts';
import { CallLost } from './worker-calls.ts';

/** Maximum sessions of a zone that wait for the worker that runs the node. */
const MOST_NOTED = 2_000;
const HANDED_MS = 1_000;

const SESSIONS_DROPPED: Metric = {
  name: 'gw_cluster_sessions_dropped_total',
  help: 'Sessions that other gateways were not told of, since there were too many at once.',
};

/** Sessions that a worker has learnt: addresses by session. */
interface NotedSessions {
  readonly zone: string;
  readonly sessions: ReadonlyMap<string, string>;
}

/** The upstreams of all configurations that share one zone, the latest last. */
interface SharedZone {
  readonly groups: Set<SessionGroup>;
  readonly unshare: () => void;
}

/** The sessions of `sticky learn … sync`, which all gateways share. */
export class ClusterSessions {
  readonly #sharing: Sharing;
  /** By zone and digest. */
  readonly #zones = new Map<string, SharedZone>();
  readonly #subjects = new Map<string, SessionsSubject>();
  /** Sessions that wait for the next batch, by zone. */
  readonly #noted = new Map<string, Map<string, string>>();
  #handing: NodeJS.Timeout | undefined;

  constructor(sharing: Sharing) {
    this.#sharing = sharing;
    sharing.answer('sessions', (noted) => this.#add(noted as NotedSessions));
  }

  /** Shares the sessions of an upstream. `digest`: that of their parameters. Returns the function that ends this. */
  share(zone: string, digest: string, group: SessionGroup): () => void {
    group.sessions.tell((session, address) => this.#note(zone, session, address));
    const key = `${zone} ${digest}`;
    const known = this.#zones.get(key);
    const groups = known?.groups ?? new Set();
    const latest = (): SessionGroup | undefined => [...groups].at(-1);
    groups.add(group);
    const unshare =
      known?.unshare ?? this.#sharing.share((node) => this.#join(node, { zone, digest, group: latest }));
    this.#zones.set(key, { groups, unshare });
    return () => {
      groups.delete(group);
      if (groups.size > 0) return;
      this.#zones.delete(key);
      unshare();
    };
  }

  #join(
    node: ClusterNode,
    shared: { zone: string; digest: string; group: () => SessionGroup | undefined },
  ): Leaving {
    const { zone } = shared;
    const dropped = (count: number): void => this.#dropped(zone, count);
    const subject = new SessionsSubject({ ...shared, dropped });
    this.#subjects.set(zone, subject);
    const leave = node.add(subject);
    return () => {
      leave();
      if (this.#subjects.get(zone) === subject) this.#subjects.delete(zone);
    };
  }

  /** Adds a session to the next batch. Called in requests. */
  #note(zone: string, session: string, address: string): void {
    const sessions = this.#noted.get(zone) ?? new Map<string, string>();
    this.#noted.set(zone, sessions);
    if (sessions.size >= MOST_NOTED && !sessions.has(session)) return this.#dropped(zone, 1);
    sessions.set(session, address);
    if (!this.#handing) this.#handing = setTimeout(() => this.#hand(), this.#sharing.plan.batchMs).unref();
  }

  #hand(): void {
    this.#handing = undefined;
    const all = [...this.#noted];
    this.#noted.clear();
    for (const [zone, sessions] of all) void this.#handOver({ zone, sessions });
  }

  async #handOver(noted: NotedSessions): Promise<void> {
    try {
      await this.#sharing.ask('sessions', noted, HANDED_MS);
    } catch (error) {
      if (!(error instanceof CallLost)) throw error;
      const { zone, sessions } = noted;
      const later = this.#noted.get(zone);
      // They are handed to the worker that runs the node then.
      for (const [session, address] of sessions) if (!later?.has(session)) this.#note(zone, session, address);
    }
  }

  #add({ zone, sessions }: NotedSessions): Promise<true> {
    const subject = this.#subjects.get(zone);
    if (!subject) return Promise.reject(new CallLost(`no sessions of "${zone}" are shared`));
    subject.add(sessions);
    return Promise.resolve(true);
  }

  #dropped(zone: string, count: number): void {
    this.#sharing.metrics.counter(SESSIONS_DROPPED, { zone }).add(count);
  }
}
