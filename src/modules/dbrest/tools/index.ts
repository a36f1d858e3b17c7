export { checkToken, decodeToken } from './check-token.ts';
export type { DecodedToken, TokenVerdict } from './check-token.ts';
export { describeApi, dumpSchema } from './describe.ts';
export { signToken } from './sign-token.ts';
