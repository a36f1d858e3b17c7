export { challengeCertificate, challengeServerName } from './challenge-certificate.ts';
export { chainFault, fitsKey } from './chain-fault.ts';
export { type ChainFacts, readChain } from './chain.ts';
export { makeKey, makeRequest } from './requests.ts';
