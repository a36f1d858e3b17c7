export { checkToken, decodeToken, type DecodedToken, type TokenVerdict, signToken } from './token.ts';
export { describeApi, dumpSchema } from './describe.ts';
export { withDatabase } from './open-database.ts';
export { scramVerifier, applySetup, setupStatus, type SetupItem, nameFault, setupScript } from './setup.ts';
