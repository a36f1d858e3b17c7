import { type Dictionary, zoneIdentity } from '../../zone/index.ts';
import { storeNumber } from '../plan.ts';
import { DictionarySubject, MAX_SHARED_BYTES } from './dictionary-subject.ts';
import type { Sharing } from './sharing.ts';

/** A dictionary that is shared, and its parameters, which must be the same on all gateways. */
interface SharedDictionary {
  readonly zone: string;
  readonly dictionary: Dictionary;
  readonly memory: SharedArrayBuffer;
  readonly digest: string;
}

/** How often a full dictionary is logged at most. */
const UNFIT_TOLD_MS = 60_000;

/** The dictionaries whose entries are the same on all gateways. */
export class ClusterDictionaries {
  readonly #sharing: Sharing;

  constructor(sharing: Sharing) {
    this.#sharing = sharing;
  }

  /** Shares the entries of a dictionary; the present ones become local changes. Returns the function that ends this. */
  share({ zone, dictionary, memory, digest }: SharedDictionary): () => void {
    const entries = dictionary.shared;
    const identity = zoneIdentity(memory);
    entries.share(storeNumber(this.#sharing.plan), MAX_SHARED_BYTES);
    const unfit = this.#unfitIn(zone);
    return this.#sharing.share((node) =>
      node.addKeyed(new DictionarySubject({ zone, entries, identity, digest, unfit })),
    );
  }

  #unfitIn(zone: string): () => void {
    const { log, plan } = this.#sharing;
    let toldMs = -Infinity;
    return () => {
      if (performance.now() - toldMs < UNFIT_TOLD_MS) return;
      toldMs = performance.now();
      const why = `the dictionary "${zone}" is full: it has no room for entries of other gateways`;
      log.write('error', `cluster "${plan.name}": ${why}`);
    };
  }
}
