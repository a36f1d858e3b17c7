/** A ring of events: see `Ring`. */
export interface RingDeclaration {
  readonly name: string;
  readonly kind: 'ring';
  /** Entries of the ring. */
  readonly capacity: number;
  /** The size that the configuration grants; without it the zone is as large as its ring. */
  readonly sizeBytes?: number;
}

/** A store of values by key: see `Dictionary`. */
export interface DictionaryDeclaration {
  readonly name: string;
  readonly kind: 'dictionary';
  readonly sizeBytes: number;
}

/** How fast requests come, by key: see `RequestRates`. */
export interface RequestLimitDeclaration {
  readonly name: string;
  readonly kind: 'request limit';
  readonly sizeBytes: number;
  /** The text that makes the keys: with another one the counts mean nothing any more. */
  readonly key: string;
}

/** How many requests are being served, by key: see `OpenRequests`. */
export interface ConnectionLimitDeclaration {
  readonly name: string;
  readonly kind: 'connection limit';
  readonly sizeBytes: number;
  /** As above. */
  readonly key: string;
}

/** What is known of the peers of an upstream: see `PeerTable`. */
export interface PeersDeclaration {
  readonly name: string;
  readonly kind: 'peers';
  /** Peers that it has room for. */
  readonly slots: number;
  /** Thread ids that may use it: all below this. */
  readonly threads: number;
}

/** Shared memory that a configuration asks for by name; plain data in the plan. */
export type ZoneDeclaration =
  | RingDeclaration
  | DictionaryDeclaration
  | RequestLimitDeclaration
  | ConnectionLimitDeclaration
  | PeersDeclaration;

/** What one kind of zone does with its memory; each kind has a row in `kinds.ts`. */
export interface ZoneKind<D extends ZoneDeclaration> {
  /** The first word of the memory: tells the kinds apart. */
  readonly magic: number;
  /** Bytes of shared memory. */
  bytes(declaration: D): number;
  /** Why this zone cannot exist, as a whole message; `undefined` when it can. */
  fault(declaration: D): string | undefined;
  /** Why `later` cannot share the zone of `earlier`, which has the same name and kind. */
  conflict(later: D, earlier: D): string | undefined;
  /** Writes an empty content into new memory, behind the part of the header that all kinds share. */
  format(buffer: SharedArrayBuffer, declaration: D): void;
  /** True when memory of this kind can go on, content included, as what `declaration` asks for. */
  keeps(buffer: SharedArrayBuffer, declaration: D): boolean;
  /** Puts the content in order after its writer died under the lock, which the caller holds. */
  repair(buffer: SharedArrayBuffer): void;
  /** Forgets what a thread that is gone had in the zone; the caller holds the lock. */
  leave?(buffer: SharedArrayBuffer, threadId: number): void;
}
