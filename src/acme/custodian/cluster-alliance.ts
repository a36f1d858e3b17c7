import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenCluster } from '../../cluster/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import { type Dictionary, type DictionaryDeclaration, DictionaryFault } from '../../zone/index.ts';
import type { AcmePlan } from '../plan.ts';
import type { CertificatePair, SharedCertificates } from '../shared-certificates.ts';
import type { Alliance } from './custodian.ts';
import type { ProofStore } from './proofs.ts';
import { type AllianceEntry, SealedEntries } from './sealed-entries.ts';

interface ClusterAllianceParts {
  readonly cluster: OpenCluster;
  /** The dictionary of `allianceZone`. */
  readonly dictionary: Dictionary;
  readonly shared: SharedCertificates;
  readonly log: ErrorLog;
}

/** How often other gateways are looked at. */
const LOOK_MS = 200;
/** The time that others need to hear of a challenge. */
const SPREAD_MS = 1_000;
/** A gateway that dies while it orders a certificate keeps others from it for so long. */
const LOCK_MS = 120_000;
const RENEW_MS = 40_000;
const PAIR_MS = 90 * 86_400_000;
const PAIR_BYTES = 16_384;
const LEAST_BYTES = 524_288;

/** Declares the dictionary that the gateways of a cluster share; its entries are sealed. */
export function allianceZone({ certificates, onDemand }: AcmePlan): DictionaryDeclaration {
  const pairs = certificates.length + onDemand.reduce((sum, { max }) => sum + max, 0);
  const sizeBytes = LEAST_BYTES + pairs * PAIR_BYTES;
  return { name: 'acme: cluster', kind: 'dictionary', sizeBytes, isShared: true };
}

/** What the gateways of a cluster share: locks, what proves challenges, and certificates. */
export class ClusterAlliance implements Alliance {
  readonly store: ProofStore;
  readonly #parts: ClusterAllianceParts;
  readonly #sealed: SealedEntries;
  /** Locks that this gateway renews, by name. */
  readonly #locks = new Map<string, NodeJS.Timeout>();
  #revision: number | undefined;
  /** The texts of entries that were looked at, by key, and how to take the entry away. */
  readonly #seen = new Map<string, { readonly text: string; readonly remove: () => void }>();
  #isFull = false;

  constructor(parts: ClusterAllianceParts) {
    this.#parts = parts;
    this.#sealed = new SealedEntries(parts.cluster.plan.secret);
    const { shared, cluster } = parts;
    this.store = {
      putToken: (name, keyAuthorization, ttlMs) => {
        shared.putToken(name, keyAuthorization, ttlMs);
        this.#put({ kind: 'token', name, keyAuthorization }, ttlMs);
      },
      dropToken: (name) => {
        shared.dropToken(name);
        this.#drop('token', name);
      },
      putChallengeCertificate: (name, pair, ttlMs) => {
        shared.putChallengeCertificate(name, pair, ttlMs);
        this.#put({ kind: 'challenge', name, pair }, ttlMs);
      },
      dropChallengeCertificate: (name) => {
        shared.dropChallengeCertificate(name);
        this.#drop('challenge', name);
      },
      spread: async (signal) => {
        await sleep(SPREAD_MS + 4 * cluster.plan.batchMs, undefined, { signal, ref: false });
      },
    };
  }

  async lock(issuer: string, id: string): Promise<'ours' | 'others' | 'unknown'> {
    const { cluster } = this.#parts;
    // Certificates of others may not have been read yet.
    if (cluster.status?.state !== 'up') return 'unknown';
    const name = `acme:${this.#sealed.keyOf('certificate', id, issuer)}`;
    const holder = await cluster.upstreams.lease(name, LOCK_MS);
    if (holder !== 'ours') return holder;
    this.unlock(issuer, id);
    const renewing = setInterval(() => void cluster.upstreams.lease(name, LOCK_MS), RENEW_MS).unref();
    this.#locks.set(name, renewing);
    return 'ours';
  }

  /** The lock ends by itself, when the others have heard of the certificate. */
  unlock(issuer: string, id: string): void {
    const name = `acme:${this.#sealed.keyOf('certificate', id, issuer)}`;
    clearInterval(this.#locks.get(name));
    this.#locks.delete(name);
  }

  publish(issuer: string, id: string, pair: CertificatePair): void {
    this.#put({ kind: 'certificate', issuer, name: id, pair }, PAIR_MS);
  }

  newest(issuer: string, id: string): CertificatePair | undefined {
    const key = this.#sealed.keyOf('certificate', id, issuer);
    const text = this.#unlessBusy(() => this.#parts.dictionary.get(key));
    const entry = typeof text === 'string' ? this.#sealed.open(key, text) : undefined;
    return entry?.kind === 'certificate' && entry.name === id && entry.issuer === issuer
      ? entry.pair
      : undefined;
  }

  follow(adopt: (issuer: string, id: string, pair: CertificatePair) => void): () => void {
    this.#revision = undefined;
    this.#seen.clear();
    const timer = setInterval(() => this.#look(adopt), LOOK_MS).unref();
    return () => {
      clearInterval(timer);
      for (const renewing of this.#locks.values()) clearInterval(renewing);
      this.#locks.clear();
    };
  }

  #look(adopt: (issuer: string, id: string, pair: CertificatePair) => void): void {
    const { dictionary } = this.#parts;
    const { revision } = dictionary;
    if (revision === this.#revision) return;
    const present = new Set<string>();
    const isWhole = this.#unlessBusy(() => {
      for (let cursor: number | undefined = 0; cursor !== undefined;) {
        const part: ReturnType<Dictionary['scan']> = dictionary.scan(cursor);
        for (const { key, value, ttlMs } of part.entries) {
          present.add(key);
          if (typeof value === 'string' && this.#seen.get(key)?.text !== value)
            this.#hear(key, { text: value, ttlMs }, adopt);
        }
        cursor = part.next;
      }
      return true;
    });
    if (isWhole !== true) return;
    this.#revision = revision;
    for (const [key, { remove }] of this.#seen) {
      if (present.has(key)) continue;
      this.#seen.delete(key);
      remove();
    }
  }

  #hear(
    key: string,
    { text, ttlMs }: { readonly text: string; readonly ttlMs: number },
    adopt: (issuer: string, id: string, pair: CertificatePair) => void,
  ): void {
    const { shared } = this.#parts;
    const entry = this.#sealed.open(key, text);
    let remove = (): void => undefined;
    if (entry?.kind === 'token') {
      remove = () => shared.dropToken(entry.name);
      this.#told(() => shared.putToken(entry.name, entry.keyAuthorization, ttlMs));
    } else if (entry?.kind === 'challenge') {
      remove = () => shared.dropChallengeCertificate(entry.name);
      this.#told(() => shared.putChallengeCertificate(entry.name, entry.pair, ttlMs));
    } else if (entry) adopt(entry.issuer, entry.name, entry.pair);
    this.#seen.set(key, { text, remove });
  }

  #put(entry: AllianceEntry, ttlMs: number): void {
    const key = this.#sealed.keyOf(entry.kind, entry.name, entry.kind === 'certificate' ? entry.issuer : '');
    this.#told(() => this.#parts.dictionary.set(key, this.#sealed.seal(key, entry), ttlMs));
  }

  #drop(kind: 'token' | 'challenge', name: string): void {
    this.#unlessBusy(() => this.#parts.dictionary.delete(this.#sealed.keyOf(kind, name)));
  }

  /** What has no room here is still there for the gateway that has ordered it. */
  #told(act: () => void): void {
    try {
      act();
      this.#isFull = false;
    } catch (error) {
      if (!this.#isFull) this.#parts.log.write('error', `acme_cluster: ${(error as Error).message}`);
      this.#isFull = true;
    }
  }

  #unlessBusy<T>(act: () => T): T | undefined {
    try {
      return act();
    } catch (error) {
      if (error instanceof DictionaryFault) return undefined;
      throw error;
    }
  }
}
