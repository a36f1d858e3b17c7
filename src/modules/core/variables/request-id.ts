import { randomBytes } from 'node:crypto';
import type { Exchange } from '../../../http/index.ts';

const REQUEST_ID = Symbol('request id');

/** The request's own 32 hexadecimal digits; made when somebody asks first. */
export function requestId(x: Exchange): string {
  const known = x.state<string>(REQUEST_ID);
  if (known !== undefined) return known;
  const made = randomBytes(16).toString('hex');
  x.setState(REQUEST_ID, made);
  return made;
}
