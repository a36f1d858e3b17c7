/** A ring of events: see `Ring`. */
export interface RingDeclaration {
  readonly name: string;
  readonly kind: 'ring';
  /** Number of entries. */
  readonly capacity: number;
  /** The configured size; default: as large as the ring needs. */
  readonly sizeBytes?: number;
  /** The cluster whose gateways share its events. */
  readonly cluster?: string;
  /** An upgrade gives its last events to the new program. */
  readonly isCarried?: true;
}

/** A store of values by key: see `Dictionary`. */
export interface DictionaryDeclaration {
  readonly name: string;
  readonly kind: 'dictionary';
  readonly sizeBytes: number;
  /** The gateways of a cluster share its entries, so that an upgrade does not carry them. */
  readonly isShared?: boolean;
  /** A full one removes the entries that have not been used for longest. */
  readonly evicts?: boolean;
  /** Whoever may use the API of keyval zones reads and writes any entry. */
  readonly isKeyval?: boolean;
}

/** The rate of requests by key: see `RequestRates`. */
export interface RequestLimitDeclaration {
  readonly name: string;
  readonly kind: 'request limit';
  readonly sizeBytes: number;
  /** The text that the keys are made of; if it changes, the counts are dropped. */
  readonly key: string;
  /** An upgrade gives its counts to the new program. */
  readonly isCarried?: true;
}

/** The number of requests in progress by key: see `OpenRequests`. */
export interface ConnectionLimitDeclaration {
  readonly name: string;
  readonly kind: 'connection limit';
  readonly sizeBytes: number;
  /** As for request limits. */
  readonly key: string;
}

/** The state of the peers of an upstream: see `PeerTable`. */
export interface PeersDeclaration {
  readonly name: string;
  readonly kind: 'peers';
  /** Number of peers that it has room for. */
  readonly slots: number;
  /** Threads with an id below this may use it. */
  readonly threads: number;
}

/** A text that all threads read and change: see `SharedText`. */
export interface SharedTextDeclaration {
  readonly name: string;
  readonly kind: 'shared text';
  /** The length of the longest text in UTF-8. */
  readonly bytes: number;
  /** Present if the text is the members of a group, and an upgrade gives them to the new program. */
  readonly carried?: CarriedMembers;
}

/** The limits of members that an upgrade gives to the new program. */
export interface CarriedMembers {
  /** Number of peers that there is room for. */
  readonly room: number;
  /** The addresses of the sockets in the configuration: `unix:/path`. */
  readonly sockets: readonly string[];
}

/** The index of a cache of responses: see `CacheIndex`. */
export interface CacheDeclaration {
  readonly name: string;
  readonly kind: 'cache';
  readonly sizeBytes: number;
  /** The directory of the entries; if it changes, the index is dropped. */
  readonly path: string;
}

/** Shared memory that a configuration declares by name; plain data in the plan. */
export type ZoneDeclaration =
  | RingDeclaration
  | DictionaryDeclaration
  | RequestLimitDeclaration
  | ConnectionLimitDeclaration
  | PeersDeclaration
  | SharedTextDeclaration
  | CacheDeclaration;

/** How one kind of zone uses its memory. `zone-memory.ts` has a table of the kinds. */
export interface ZoneKind<D extends ZoneDeclaration> {
  /** The first word of the memory; identifies the kind. */
  readonly magic: number;
  /** Returns the size of the shared memory in bytes. */
  bytes(declaration: D): number;
  /** Returns why this zone cannot be created, as a complete message; `undefined` if it can. */
  fault(declaration: D): string | undefined;
  /** Returns why `later` cannot share the zone of `earlier`, which has the same name and kind. */
  conflict(later: D, earlier: D): string | undefined;
  /** Initialises new memory after the part of the header that all kinds share. */
  format(buffer: SharedArrayBuffer, declaration: D): void;
  /** Returns whether memory of this kind can be kept, with its content, for `declaration`. */
  keeps(buffer: SharedArrayBuffer, declaration: D): boolean;
  /** Repairs the content after its writer died while holding the lock. The caller holds the lock. */
  repair(buffer: SharedArrayBuffer): void;
  /** Removes what belonged to a thread that has exited. The caller holds the lock. */
  leave?(buffer: SharedArrayBuffer, threadId: number): void;
}
