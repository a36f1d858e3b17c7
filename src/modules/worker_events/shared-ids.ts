import type { OpenCluster } from '../../cluster/index.ts';
import type { Ring, RingEntry } from '../../zone/index.ts';

/** The search for entries of this node ends after so many entries of other nodes. */
const MOST_PASSED = 500;

const ID = /^(\d{1,16})\/([\w.-]{1,80})\/(\d{1,16})$/;

/**
 * The ids of entries in a ring that the gateways of a cluster share: `position/node/generation`. The node that made an
 * id uses its generation, which is exact. Another node, or a new ring of the same node, uses the position in the stream
 * of the store: entries may then be repeated, but none is left out.
 */
export class SharedIds {
  readonly #ring: Ring;
  readonly #cluster: OpenCluster;
  /** Differs from the marks of former rings of this node. */
  readonly #mark: string;

  constructor(ring: Ring, cluster: OpenCluster, identity: string) {
    this.#ring = ring;
    this.#cluster = cluster;
    this.#mark = identity.slice(0, 6);
  }

  idOf({ position, generation }: RingEntry): string {
    return `${position}/${this.#node}/${generation}`;
  }

  /** Returns the members of an entry's JSON that name its publisher. */
  authorJson({ origin, sequence }: RingEntry): string {
    return `,"origin":${JSON.stringify(this.#cluster.originName(origin))},"seq":${sequence}`;
  }

  /** Returns the generation after which a client with this id continues; `undefined` if the text is no id. */
  generationOf(id: string): number | undefined {
    const [, position, node, generation] = ID.exec(id) ?? [];
    if (position === undefined) return undefined;
    return node === this.#node ? Number(generation) : this.#behind(Number(position));
  }

  get #node(): string {
    return `${this.#cluster.nodeId}.${this.#mark}`;
  }

  /**
   * Returns the last generation before the first entry that may come after a position of the stream. Positions grow
   * with generations. But an entry of this node is in the ring before it is in the stream, where later entries may
   * precede it.
   */
  #behind(position: number): number {
    const range = this.#ring.range();
    if (!range) return 0;
    let first = this.#firstBeyond(position, range);
    let passed = 0;
    for (let at = first - 1; at >= range.oldest && passed < MOST_PASSED; at -= 1) {
      const entry = this.#ring.read(at);
      // It has been overwritten, and so have all entries before it.
      if (!entry) break;
      passed += 1;
      if (entry.origin !== 0) continue;
      if (entry.counter !== 0 && entry.counter <= position) break;
      first = at;
      passed = 0;
    }
    return first - 1;
  }

  /** Returns the first generation in the ring with a greater position. */
  #firstBeyond(position: number, { oldest, newest }: { oldest: number; newest: number }): number {
    let [low, high] = [oldest, newest + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      // An entry that has been overwritten meanwhile is older.
      if ((this.#ring.read(middle)?.position ?? 0) > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
