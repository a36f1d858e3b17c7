import { type Ring, zoneIdentity } from '../../zone/index.ts';
import type { ClusterNode } from '../node/index.ts';
import { storeNumber } from '../plan.ts';
import { RingSubject } from './ring-subject.ts';
import type { Leaving, Sharing } from './sharing.ts';

/** The rings whose events all gateways have. */
export class ClusterEvents {
  readonly #sharing: Sharing;
  readonly #originOf: (nodeId: string) => number;
  readonly #subjects = new Set<RingSubject>();

  /** `originOf` gives the number under which rings know a node. */
  constructor(sharing: Sharing, originOf: (nodeId: string) => number) {
    this.#sharing = sharing;
    this.#originOf = originOf;
  }

  /** Shares the events of a ring. Returns the function that ends it. */
  share(zone: string, ring: Ring, memory: SharedArrayBuffer): () => void {
    const identity = zoneIdentity(memory);
    return this.#sharing.share((node) => this.#join(node, { zone, ring, identity }));
  }

  /** Publishes, in all rings of this gateway and there only, what the cluster has to tell their users. */
  announce(type: string, facts: Readonly<Record<string, unknown>>): void {
    for (const subject of this.#subjects) subject.announce(type, facts);
  }

  /** Tells whether the store has an event that was published here, once that is certain or `timeout` has passed. */
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
