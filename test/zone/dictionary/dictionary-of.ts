import {
  createZone,
  type Dictionary,
  type DictionaryDeclaration,
  DictionaryFault,
  type DictionaryOptions,
  openDictionary,
} from '../../../src/zone/index.ts';

export const zone = (sizeBytes = 4096): DictionaryDeclaration => ({
  name: 'd',
  kind: 'dictionary',
  sizeBytes,
});

/** A dictionary, of 29 blocks by default, with a clock that moves only when the test moves it. */
export function dictionaryOf(options: DictionaryOptions = {}, sizeBytes?: number) {
  const clock = { ms: 1_000_000 };
  const dictionary = openDictionary(createZone(zone(sizeBytes)), 1, { now: () => clock.ms, ...options });
  return { clock, dictionary };
}

/** Fills it with entries of one block each. */
export function fill(dictionary: Dictionary, ttlMs = 0): void {
  for (let n = 0; n < 29; n++) dictionary.set(`k${n}`, n, ttlMs);
}

/** Why a call is refused; `undefined` when it is not. */
export function refusal(act: () => unknown): string | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof DictionaryFault) return error.refusal;
    throw error;
  }
}
