import type { Exchange } from '../http/index.ts';
import type { VerifiedToken } from './token-verifier.ts';

/** Reads the tokens of requests to one location. A request is judged once, whoever asks first. */
export interface TokenReader {
  /** The token of a request, if its signature, its times and its audience are right. */
  verified(x: Exchange): VerifiedToken | undefined;
  /** Compiles the same for tokens that also have the scopes and values that the location requires. */
  compileAccepted(): (x: Exchange) => VerifiedToken | undefined;
}
