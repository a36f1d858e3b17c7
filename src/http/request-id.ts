import type { Exchange } from './exchange.ts';
import { randomDigits } from './random.ts';
import { stateKey } from './request.ts';

const RANDOM = stateKey<string>('random id');
const ID_DIGITS = 32;
const COUNTING = stateKey<string>('request id');

/** Returns `$request_id`: 32 hexadecimal digits, made at their first use in a request and shared with its subrequests. */
export function randomId({ main }: Exchange): string {
  return kept(main, RANDOM, () => randomDigits(ID_DIGITS));
}

/**
 * Returns the id of a request that logs, traces and databases show: that of `request_id_header` where the configuration
 * has it, else `$request_id`. It stays the same for the whole request.
 */
export function requestId({ main }: Exchange): string {
  return kept(main, COUNTING, () => main.rules.shown.requestId?.(main) ?? randomId(main));
}

/** Gives a copy of a request its id, which nothing may have asked for yet. */
export function shareRequestId(copy: Exchange, origin: Exchange): void {
  copy.setState(COUNTING, requestId(origin));
}

function kept(main: Exchange, key: ReturnType<typeof stateKey<string>>, make: () => string): string {
  const known = main.state(key);
  if (known !== undefined) return known;
  const made = make();
  main.setState(key, made);
  return made;
}
