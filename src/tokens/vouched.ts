import { type Exchange, stateKey } from '../http/index.ts';
import { readObject } from './json.ts';
import type { VerifiedToken } from './token-verifier.ts';

/** Tokens that gw itself got from their issuer and verified, and that a request may go on with. */
const VOUCHED = stateKey<readonly VerifiedToken[]>('vouched tokens');

/** Records that gw has verified a token of this request earlier. */
export function vouchFor({ main }: Exchange, token: VerifiedToken): void {
  const known = main.state(VOUCHED) ?? [];
  if (!known.includes(token)) main.setState(VOUCHED, [...known, token]);
}

/** Returns a token by its text if `vouchFor` has recorded it for this request. */
export function vouchedToken({ main }: Exchange, text: string): VerifiedToken | undefined {
  return main.state(VOUCHED)?.find((token) => token.text === text);
}

/** Reads a signed token that was verified earlier, without verifying it. `undefined` if it is malformed. */
export function readVerified(text: string): VerifiedToken | undefined {
  const [header, claims] = text.split('.').map((part) => readObject(Buffer.from(part, 'base64url')));
  return header && claims && { text, header, claims };
}
