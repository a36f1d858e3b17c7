/** Why a dictionary refuses a call; nothing has changed then. */
export type DictionaryRefusal = 'busy' | 'no memory' | 'not a number' | 'bad key';

/** `busy`: the lock was not to be had in 250 ms, the next try may succeed. The others tell what is wrong with the call. */
export class DictionaryFault extends Error {
  readonly refusal: DictionaryRefusal;

  constructor(refusal: DictionaryRefusal, message: string) {
    super(message);
    this.refusal = refusal;
  }
}
