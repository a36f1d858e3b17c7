export { checkToken, decodeToken } from './check-token.ts';
export type { DecodedToken, TokenVerdict } from './check-token.ts';
export { signToken } from './sign-token.ts';
export type { SignedToken, TokenOrder } from './sign-token.ts';
