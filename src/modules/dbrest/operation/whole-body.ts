import type { Exchange } from '../../../http/index.ts';

const BODY = Symbol('dbrest body');

/** The body of a request, as often as it is asked for; `undefined` when there is nobody left to be answered. */
export function wholeBody(x: Exchange): Promise<Buffer | undefined> {
  const known = x.state<Promise<Buffer | undefined>>(BODY);
  if (known) return known;
  const reading = x.readBody();
  x.setState(BODY, reading);
  return reading;
}
