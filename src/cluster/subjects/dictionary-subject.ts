import {
  DictionaryFault,
  type DictionaryValue,
  readValueText,
  type SharedEntries,
  valueText,
} from '../../zone/index.ts';
import type { KeyChange, KeyedSubject, KeyState } from '../node/index.ts';
import { type KeyWrite, MAX_KEYED_BYTES } from '../stores/index.ts';

interface DictionarySubjectParts {
  readonly zone: string;
  readonly entries: SharedEntries;
  /** Identifies the memory of the dictionary. */
  readonly identity: string;
  /** The digest of the parameters of the dictionary. */
  readonly digest: string;
  /** Called when the dictionary has no room for values of other nodes. */
  readonly unfit: () => void;
}

/** Maximum bytes of key and text in a dictionary: a value is sent after a letter, and a number as text. */
export const MAX_SHARED_BYTES = MAX_KEYED_BYTES - 32;
/** Busy writers can keep the lock of a dictionary from others for a moment. */
const ATTEMPTS = 3;

/** The entries of a dictionary that all nodes share. */
export class DictionarySubject implements KeyedSubject {
  readonly stream: string;
  readonly digest: string;
  readonly incarnation: string;
  readonly #entries: SharedEntries;
  readonly #unfit: () => void;

  constructor({ zone, entries, identity, digest, unfit }: DictionarySubjectParts) {
    this.stream = `di:${zone}`;
    this.digest = digest;
    this.incarnation = identity;
    this.#entries = entries;
    this.#unfit = unfit;
  }

  watch(listener: () => void): () => void {
    return this.#entries.watch(listener);
  }

  changes(most: number): readonly KeyChange[] {
    const found = unlessBusy(() => this.#entries.changes(most)) ?? [];
    return found.map(({ value, ...change }) => ({ ...change, value: textOf(value) }));
  }

  acknowledged(change: KeyChange): void {
    // If the dictionary is busy, the change is sent again, and acknowledged then.
    unlessBusy(() => this.#entries.settle(change));
  }

  superseded(change: KeyChange): boolean {
    return unlessBusy(() => this.#entries.settle(change)) === true;
  }

  renew({ value, ...change }: KeyChange): void {
    unlessBusy(() => this.#entries.renew({ ...change, value: valueOf(value) }));
  }

  get birth(): number {
    return this.#entries.birth;
  }

  set birth(birth: number) {
    this.#entries.birth = birth;
  }

  forget(): boolean {
    return isDone(() => this.#entries.forget());
  }

  accepts({ value }: KeyWrite): boolean {
    return value === undefined || valueOf(value) !== undefined;
  }

  apply(states: readonly KeyState[], position: number | undefined): readonly string[] | undefined {
    const read = states.map(({ value, ...state }) => ({ ...state, value: valueOf(value) }));
    const applied = unlessBusy(() => this.#entries.apply(read, position));
    if (applied && applied.unfit > 0) this.#unfit();
    return applied?.superseded;
  }

  keepOnly(keys: ReadonlySet<string>): boolean {
    return isDone(() => this.#entries.keepOnly(keys));
  }

  repair(keys: ReadonlySet<string>): boolean {
    return isDone(() => this.#entries.repair(keys));
  }

  renewOthers(keys: ReadonlySet<string>): boolean {
    return isDone(() => this.#entries.renewOthers(keys));
  }
}

/** Runs `act`. Returns false if the lock of the dictionary could not be acquired. */
function isDone(act: () => void): boolean {
  return unlessBusy(() => (act(), true)) === true;
}

/** Runs `act`. Returns `undefined` if the lock of the dictionary could not be acquired. */
function unlessBusy<T>(act: () => T): T | undefined {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    try {
      return act();
    } catch (error) {
      if (!(error instanceof DictionaryFault && error.refusal === 'busy')) throw error;
    }
  }
  return undefined;
}

function textOf(value: DictionaryValue | undefined): string | undefined {
  return value === undefined ? undefined : valueText(value);
}

function valueOf(text: string | undefined): DictionaryValue | undefined {
  return text === undefined ? undefined : readValueText(text);
}
