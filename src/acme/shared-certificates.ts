import { LRUCache } from 'lru-cache';
import { isObject, parseJson } from '../json.ts';
import { type Dictionary, DictionaryFault, type DictionaryDeclaration, fnv1a } from '../zone/index.ts';
import { type AcmeCertificate, type AcmePlan, certificateId } from './plan.ts';

/** A certificate with its chain, and its key: PEM texts. */
export interface CertificatePair {
  readonly chain: string;
  readonly key: string;
}

/** How a question for a certificate on demand ended. */
type DemandOutcome = (typeof OUTCOMES)[number];
const OUTCOMES = ['issued', 'refused', 'failed'] as const;

/** The shared memory refuses what is to be stored; the message is for the operator. */
export class SharedMemoryFault extends Error {}

/** Questions that wait at the same time, in all workers. */
const MOST_QUESTIONS = 64;
const QUESTION_MS = 15_000;
/** For how long those who wait can read an answer. */
const ANSWER_MS = 15_000;
/** Answers that can be read; more of them would take the room of certificates. */
const MOST_ANSWERS = 256;
/** Pairs that a thread keeps without reading them again. */
const MOST_KEPT = 10_000;

interface KeptPair {
  /** That of the memory when it was compared. */
  revision: number;
  readonly text: string;
  readonly pair: CertificatePair;
}

/**
 * Certificates, their keys and what proves challenges, in memory that all workers share. One worker writes; all read,
 * without waiting.
 */
export class SharedCertificates {
  readonly #memory: Dictionary;
  readonly #kept = new LRUCache<string, KeptPair>({ max: MOST_KEPT });

  constructor(memory: Dictionary) {
    this.#memory = memory;
  }

  /** A number of 32 bits that differs after each change. */
  get revision(): number {
    return this.#memory.revision;
  }

  /** The part of the memory that is in use, from 0 to 1. */
  get fill(): number {
    const { freeBytes, capacityBytes } = this.#memory.facts();
    return 1 - freeBytes / capacityBytes;
  }

  /** The key authorization of a token (RFC 8555, 8.3). */
  token(token: string): string | undefined {
    const value = this.#memory.get(`token ${token}`);
    return typeof value === 'string' ? value : undefined;
  }

  /** Throws a `SharedMemoryFault`. */
  putToken(token: string, keyAuthorization: string, ttlMs: number): void {
    this.#put(`token ${token}`, keyAuthorization, ttlMs);
  }

  dropToken(token: string): void {
    this.#memory.delete(`token ${token}`);
  }

  /** What a challenge of type tls-alpn-01 shows for a server name: that of an address is its reverse name. */
  challengeCertificate(name: string): CertificatePair | undefined {
    return this.#read(`challenge ${name}`);
  }

  /** Throws a `SharedMemoryFault`. */
  putChallengeCertificate(name: string, pair: CertificatePair, ttlMs: number): void {
    this.#put(`challenge ${name}`, JSON.stringify(pair), ttlMs);
  }

  dropChallengeCertificate(name: string): void {
    this.#memory.delete(`challenge ${name}`);
  }

  /** The certificate of an id. The same object as before, if it is the same certificate. */
  certificate(id: string): CertificatePair | undefined {
    return this.#read(`certificate ${id}`);
  }

  /** Throws a `SharedMemoryFault`. */
  putCertificate(id: string, { chain, key }: CertificatePair): void {
    this.#put(`certificate ${id}`, JSON.stringify({ chain, key }), 0);
  }

  dropCertificate(id: string): void {
    this.#memory.delete(`certificate ${id}`);
  }

  /**
   * Asks the worker that orders certificates for one that is missing. Returns false if too many questions wait, or if
   * memory is full.
   */
  ask(certificate: AcmeCertificate): boolean {
    const id = certificateId(certificate);
    const text = JSON.stringify(certificate);
    const first = fnv1a(Buffer.from(id)) % MOST_QUESTIONS;
    try {
      for (let i = 0; i < MOST_QUESTIONS; i++) {
        const slot = `question ${(first + i) % MOST_QUESTIONS}`;
        if (this.#memory.get(slot) === text || this.#memory.add(slot, text, QUESTION_MS)) return true;
      }
    } catch (error) {
      if (!(error instanceof DictionaryFault)) throw error;
    }
    return false;
  }

  /** The certificates that are asked for; each stays until it is answered, or nobody waits any more. */
  asked(): readonly AcmeCertificate[] {
    const found = new Map<string, AcmeCertificate>();
    for (let i = 0; i < MOST_QUESTIONS; i++) {
      const text = this.#memory.get(`question ${i}`);
      if (typeof text === 'string' && !found.has(text)) found.set(text, JSON.parse(text) as AcmeCertificate);
    }
    return [...found.values()];
  }

  /** Tells those who wait for a certificate how its order ended, and removes the question. */
  answer(certificate: AcmeCertificate, outcome: DemandOutcome): void {
    const text = JSON.stringify(certificate);
    const id = certificateId(certificate);
    this.#put(answerSlot(id), `${outcome} ${id}`, ANSWER_MS);
    for (let i = 0; i < MOST_QUESTIONS; i++)
      if (this.#memory.get(`question ${i}`) === text) this.#memory.delete(`question ${i}`);
  }

  /** How the last order of a certificate ended; `undefined`: it was not asked for lately. */
  answerTo(id: string): DemandOutcome | undefined {
    const text = this.#memory.get(answerSlot(id));
    return OUTCOMES.find((outcome) => text === `${outcome} ${id}`);
  }

  /** Takes over what older memory has and this one has not: a reload with more certificates has larger memory. */
  adopt(older: SharedCertificates): void {
    for (let cursor: number | undefined = 0; cursor !== undefined;) {
      const { entries, next } = older.#memory.scan(cursor);
      for (const { key, value, ttlMs } of entries)
        if (!this.#memory.get(key)) this.#put(key, String(value), ttlMs);
      cursor = next;
    }
  }

  #put(key: string, value: string, ttlMs: number): void {
    try {
      this.#memory.set(key, value, ttlMs);
    } catch (error) {
      if (!(error instanceof DictionaryFault)) throw error;
      const why =
        error.refusal === 'no memory' ? 'is full: "acme_shared_zone" makes it larger' : `: ${error.message}`;
      throw new SharedMemoryFault(`the shared memory for certificates ${why}`, { cause: error });
    }
  }

  /** Reads a pair. Most handshakes find that nothing has changed, and take no lock. */
  #read(key: string): CertificatePair | undefined {
    const kept = this.#kept.get(key);
    const { revision } = this.#memory;
    if (kept?.revision === revision) return kept.pair;
    const text = this.#textOf(key, kept);
    if (typeof text !== 'string') return void this.#kept.delete(key);
    if (kept?.text === text) {
      kept.revision = revision;
      return kept.pair;
    }
    const pair = parseJson(text);
    if (!isObject(pair) || typeof pair['chain'] !== 'string' || typeof pair['key'] !== 'string')
      return undefined;
    const read = { chain: pair['chain'], key: pair['key'] };
    this.#kept.set(key, { revision, text, pair: read });
    return read;
  }

  /** A busy memory leaves what was known before. */
  #textOf(key: string, kept: KeptPair | undefined): unknown {
    try {
      return this.#memory.get(key);
    } catch (error) {
      if (error instanceof DictionaryFault && error.refusal === 'busy') return kept?.text;
      throw error;
    }
  }
}

function answerSlot(id: string): string {
  return `answer ${fnv1a(Buffer.from(id)) % MOST_ANSWERS}`;
}

const LEAST_BYTES = 262_144;
/** A chain of three certificates and an RSA key of 4096 bits, or two pairs while one replaces the other. */
const PAIR_BYTES = 16_384;

/** The name of the shared memory, by that of `acme_shared_zone`: one that no directive can declare. */
export function certificatesZoneName(own: { readonly name: string } | undefined): string {
  return `acme: ${own?.name ?? 'ngx_acme_shared'}`;
}

/**
 * The shared memory of a plan. A power of two: a few certificates more
 * do not change the size, so that a reload keeps it.
 */
export function certificatesZone(
  { certificates, onDemand }: Pick<AcmePlan, 'certificates' | 'onDemand'>,
  own: { readonly name: string; readonly sizeBytes: number } | undefined,
): DictionaryDeclaration {
  const pairs = certificates.length + onDemand.reduce((sum, { max }) => sum + max, 0);
  return {
    name: certificatesZoneName(own),
    kind: 'dictionary',
    sizeBytes: own?.sizeBytes ?? 2 ** Math.ceil(Math.log2(LEAST_BYTES + pairs * PAIR_BYTES)),
  };
}
