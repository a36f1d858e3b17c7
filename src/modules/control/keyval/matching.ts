import { setImmediate } from 'node:timers/promises';
import { addressBytes, type Network, parseNetwork } from '../../../config/index.ts';
import type { Dictionary, DictionaryValue } from '../../../zone/index.ts';
import type { Matching } from './directives.ts';

/** Looks up the value for a text. Throws a `DictionaryFault` if the dictionary cannot be read. */
export type Lookup = (text: string) => DictionaryValue | undefined;

/** The longest key of a dictionary. A longer text has no value. */
const LONGEST_KEY_BYTES = 65_535;

/** An index of the keys that can match other texts than their own. Values are always read from the dictionary. */
interface KeyIndex {
  add(key: string): void;
  /** Returns the keys that match a text, the longest one first. */
  candidates(text: string): Iterable<string>;
}

/** Returns the lookup for a way of matching. `ready` resolves when the index has the keys that exist now. */
export function openLookup(
  dictionary: Dictionary,
  matching: Matching,
): { readonly lookup: Lookup; readonly ready: Promise<void> } {
  const get: Lookup = (text) => (fits(text) ? dictionary.get(text) : undefined);
  if (matching === 'string') return { lookup: get, ready: Promise.resolve() };
  const followed = new FollowedIndex(
    dictionary,
    matching === 'ip' ? () => new Networks() : () => new Prefixes(),
  );
  const lookup: Lookup = (text) => {
    for (const key of followed.current.candidates(text)) {
      const value = dictionary.get(key);
      if (value !== undefined) return value;
    }
    return undefined;
  };
  return { lookup, ready: followed.ready };
}

function fits(text: string): boolean {
  return (
    text !== '' && (text.length * 3 <= LONGEST_KEY_BYTES || Buffer.byteLength(text) <= LONGEST_KEY_BYTES)
  );
}

/** With so many keys in so many parts at most, an index is made again while a request waits. */
const FEW_KEYS = 4_000;
const FEW_PARTS = 64;
/** The pause after making a larger index, as a multiple of the time that it took. */
const PAUSE = 20;

/** An index of the keys of a dictionary that follows its changes: at once if there are few keys, else soon. */
class FollowedIndex {
  readonly ready: Promise<void>;
  readonly #dictionary: Dictionary;
  readonly #open: () => KeyIndex;
  #index: KeyIndex;
  #revision = 0;
  #isSmall = false;
  #notBeforeMs = 0;
  #isMaking = false;

  constructor(dictionary: Dictionary, open: () => KeyIndex) {
    this.#dictionary = dictionary;
    this.#open = open;
    this.#index = open();
    this.ready = this.#make();
  }

  get current(): KeyIndex {
    if (this.#revision === this.#dictionary.revision || this.#isMaking) return this.#index;
    if (this.#isSmall) this.#makeAtOnce();
    else if (performance.now() >= this.#notBeforeMs) void this.#make().catch(() => undefined);
    return this.#index;
  }

  #makeAtOnce(): void {
    const draft = this.#begin();
    while (draft.next !== undefined) this.#addPart(draft);
    this.#replace(draft);
  }

  /** Makes the index in parts, between which requests are served. */
  async #make(): Promise<void> {
    this.#isMaking = true;
    try {
      let tookMs = 0;
      const draft = this.#begin();
      while (draft.next !== undefined) {
        const startMs = performance.now();
        this.#addPart(draft);
        tookMs += performance.now() - startMs;
        await setImmediate();
      }
      this.#replace(draft);
      this.#notBeforeMs = performance.now() + PAUSE * tookMs;
    } finally {
      this.#isMaking = false;
    }
  }

  #begin(): DraftIndex {
    return { index: this.#open(), revision: this.#dictionary.revision, next: 0, keys: 0, parts: 0 };
  }

  #addPart(draft: DraftIndex): void {
    const { entries, next } = this.#dictionary.scan(draft.next);
    for (const { key } of entries) draft.index.add(key);
    draft.keys += entries.length;
    draft.parts += 1;
    draft.next = next;
  }

  #replace({ index, revision, keys, parts }: DraftIndex): void {
    this.#index = index;
    this.#revision = revision;
    this.#isSmall = keys <= FEW_KEYS && parts <= FEW_PARTS;
  }
}

/** An index while its keys are read. */
interface DraftIndex {
  readonly index: KeyIndex;
  /** That of the dictionary when the first key was read. */
  readonly revision: number;
  /** The cursor of the next part; `undefined` after the last one. */
  next: number | undefined;
  keys: number;
  parts: number;
}

/** Keys that are networks, by the number of their bits. A text is an address or a network itself. */
class Networks implements KeyIndex {
  /** The keys by network, which several keys can write differently. */
  readonly #keys = new Map<string, string[]>();
  readonly #bits = new Map<number, Set<number>>([
    [4, new Set()],
    [16, new Set()],
  ]);

  add(key: string): void {
    const network = networkOf(key);
    if (!network) return;
    const text = networkKey(network);
    const before = this.#keys.get(text);
    if (before) before.push(key);
    else this.#keys.set(text, [key]);
    this.#bits.get(network.bytes.length)?.add(network.bits);
  }

  *candidates(text: string): Iterable<string> {
    const asked = networkOf(text);
    if (!asked) return;
    const all = [...(this.#bits.get(asked.bytes.length) ?? [])].toSorted((a, b) => b - a);
    for (const bits of all) {
      if (bits <= asked.bits) yield* this.#keys.get(networkKey({ bytes: asked.bytes, bits })) ?? [];
    }
  }
}

function networkOf(text: string): Network | undefined {
  const network = parseNetwork(text)?.network;
  if (network?.bytes.length !== 16 || network.bits !== 128) return network;
  // The IPv4-mapped address of a client's socket.
  const bytes = addressBytes(text.replace(/\/.*/, ''));
  return bytes?.length === 4 ? { bytes, bits: 32 } : network;
}

/** The first bits of an address, as a key of a map. */
function networkKey({ bytes, bits }: Network): string {
  const kept = bytes.map(
    (byte, index) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - index * 8))) & 0xff,
  );
  return `${bits}/${kept.join('.')}`;
}

/** True for a text that can be a key of a zone with `type=ip`. */
export function isNetwork(text: string): boolean {
  return parseNetwork(text) !== undefined;
}

/** Keys that are beginnings of texts: of them, only the lengths. */
class Prefixes implements KeyIndex {
  readonly #lengths = new Set<number>();

  add(key: string): void {
    this.#lengths.add(key.length);
  }

  *candidates(text: string): Iterable<string> {
    const all = [...this.#lengths].toSorted((a, b) => b - a);
    for (const length of all) if (length <= text.length) yield text.slice(0, length);
  }
}
