export { checkToken, decodeToken } from './check-token.ts';
export type { DecodedToken, TokenVerdict } from './check-token.ts';
export { describeApi, dumpSchema } from './describe.ts';
export { signToken } from './sign-token.ts';
export { scramVerifier } from './scram-verifier.ts';
export { applySetup, setupStatus } from './setup.ts';
export type { SetupItem } from './setup.ts';
export { nameFault, setupScript } from './setup-sql.ts';
export type { SetupOrder } from './setup-sql.ts';
