import type { OpenCluster } from '../../cluster/index.ts';
import type { Ring, RingEntry } from '../../zone/index.ts';

/** Entries that are looked at to find the place of a client that comes from another gateway. */
const MOST_LOOKED_AT = 20_000;

const ID = /^(\d{1,15})\/([\w.-]{1,80})\/(\d{1,15})$/;

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
   * The last generation before the first entry that is beyond a position of the stream. Entries of other nodes are in the order
   * of the stream, and so are those of this one; but an own entry is in the ring before it is in the stream.
   */
  #behind(position: number): number {
    const ring = this.#ring;
    const range = ring.range();
    if (!range) return 0;
    const oldest = Math.max(range.oldest, range.newest - MOST_LOOKED_AT + 1);
    let first = range.newest + 1;
    let isOwnFound = false;
    let isForeignFound = false;
    for (let at = range.newest; at >= oldest && !(isOwnFound && isForeignFound); at -= 1) {
      const entry = ring.read(at);
      // It has been overwritten: so has all before it.
      if (!entry) break;
      const isBeyond = entry.counter === 0 || entry.counter > position;
      if (isBeyond) first = at;
      else if (entry.origin === 0) isOwnFound = true;
      else isForeignFound = true;
    }
    return first - 1;
  }
}
