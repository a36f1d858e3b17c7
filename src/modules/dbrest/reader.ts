/** Who waits for a read: an exchange. */
export interface Reader {
  readonly aborted: boolean;
  /** Has been given a part of the answer. */
  readonly done?: boolean;
  onAbort(listener: () => void): void;
}

/** What a location allows its requests. */
export interface ReadRules {
  readonly poolTimeoutMs: number;
  readonly poolQueue: number;
  readonly timeoutMs: number;
  /** `discard`: it meets nothing that requests of before left in its session. */
  readonly poolReset: 'discard' | 'none';
}

/** Whom a read for nobody in particular serves. */
export const EVERYONE: Reader = { aborted: false, onAbort: () => undefined };
/** It can wait. */
export const PATIENT: ReadRules = {
  poolTimeoutMs: 10_000,
  poolQueue: Infinity,
  timeoutMs: 30_000,
  poolReset: 'discard',
};
/** It must know soon. */
export const PROBE: ReadRules = { ...PATIENT, poolTimeoutMs: 1_000 };
