import type { OpenCluster } from '../../cluster/index.ts';
import type { Ring, RingEntry } from '../../zone/index.ts';

/** Entries of other nodes among which an own one is looked for that may not be in the stream yet. */
const MOST_PASSED = 500;

const ID = /^(\d{1,16})\/([\w.-]{1,80})\/(\d{1,16})$/;

/**
 * The ids of entries in a ring that the gateways of a cluster share: `position/node/generation`. The node goes on by the
 * generation, which is exact; another one, or the same with a new ring, by the position in the stream of the store: then entries
 * may come again, but none is left out.
 */
export class SharedIds {
  readonly #ring: Ring;
  readonly #cluster: OpenCluster;
  /** Tells a ring from one that this node has had before. */
  readonly #mark: string;

  constructor(ring: Ring, cluster: OpenCluster, identity: string) {
    this.#ring = ring;
    this.#cluster = cluster;
    this.#mark = identity.slice(0, 6);
  }

  idOf({ position, generation }: RingEntry): string {
    return `${position}/${this.#node}/${generation}`;
  }

  /** The members of an entry's JSON that tell who has published it. */
  authorJson({ origin, sequence }: RingEntry): string {
    return `,"origin":${JSON.stringify(this.#cluster.originName(origin))},"seq":${sequence}`;
  }

  /** The generation behind which a client goes on that has seen an id; `undefined` if the text is none. */
  generationOf(id: string): number | undefined {
    const [, position, node, generation] = ID.exec(id) ?? [];
    if (position === undefined) return undefined;
    return node === this.#node ? Number(generation) : this.#behind(Number(position));
  }

  get #node(): string {
    return `${this.#cluster.nodeId}.${this.#mark}`;
  }

  /**
   * The last generation before the first entry that may be beyond a position of the stream. The positions of entries grow with their
   * generations. An own entry may get a counter beyond that of entries behind it: it is in the ring before it is in the stream.
   */
  #behind(position: number): number {
    const range = this.#ring.range();
    if (!range) return 0;
    let first = this.#firstBeyond(position, range);
    let passed = 0;
    for (let at = first - 1; at >= range.oldest && passed < MOST_PASSED; at -= 1) {
      const entry = this.#ring.read(at);
      // It has been overwritten: so has all before it.
      if (!entry) break;
      passed += 1;
      if (entry.origin !== 0) continue;
      if (entry.counter !== 0 && entry.counter <= position) break;
      first = at;
      passed = 0;
    }
    return first - 1;
  }

  /** The first generation of those in the ring whose position is greater. */
  #firstBeyond(position: number, { oldest, newest }: { oldest: number; newest: number }): number {
    let [low, high] = [oldest, newest + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      // What has been overwritten meanwhile is older.
      if ((this.#ring.read(middle)?.position ?? 0) > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
