import { type Ring, zoneIdentity } from '../../zone/index.ts';
import type { ClusterNode } from '../node/index.ts';
import { storeNumber } from '../plan.ts';
import { RingSubject } from './ring-subject.ts';
import type { Leaving, Sharing } from './sharing.ts';

/** The rings whose events are published on all gateways. */
export class ClusterEvents {
  readonly #sharing: Sharing;
  readonly #originOf: (nodeId: string) => number;
  readonly #subjects = new Set<RingSubject>();

  /** `originOf` returns the number of a node in rings. */
  constructor(sharing: Sharing, originOf: (nodeId: string) => number) {
    this.#sharing = sharing;
    this.#originOf = originOf;
  }

  /** Shares the events of a ring. Returns the function that ends this. */
  share(zone: string, ring: Ring, memory: SharedArrayBuffer): () => void {
    const identity = zoneIdentity(memory);
    return this.#sharing.share((node) => this.#join(node, { zone, ring, identity }));
  }

  /** Publishes an event of the cluster itself in all rings of this gateway only. */
  announce(type: string, facts: Readonly<Record<string, unknown>>): void {
    for (const subject of this.#subjects) subject.announce(type, facts);
  }

  /** Resolves with true once the store has acknowledged an event of this gateway, or with false after `timeout`. */
  acknowledged(ring: Ring, generation: number): Promise<boolean> {
    return new Promise((resolve) => {
      const isAcknowledged = (): boolean => (ring.read(generation)?.counter ?? 0) > 0;
      const settle = (): void => {
        clearTimeout(timer);
        end();
        resolve(isAcknowledged());
      };
      const timer = setTimeout(settle, this.#sharing.plan.timeoutMs);
      const end = ring.watch(() => {
        if (isAcknowledged()) settle();
      });
      if (isAcknowledged()) settle();
    });
  }

  #join(
    node: ClusterNode,
    ring: { readonly zone: string; readonly ring: Ring; readonly identity: string },
  ): Leaving {
    const originOf = this.#originOf;
    const store = storeNumber(this.#sharing.plan);
    const subject = new RingSubject({ ...ring, store, originOf, self: () => originOf(node.nodeId) });
    this.#subjects.add(subject);
    const leave = node.add(subject);
    return () => {
      this.#subjects.delete(subject);
      leave();
    };
  }
}
