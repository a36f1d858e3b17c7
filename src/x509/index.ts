export { bytesOfAddress } from './addresses.ts';
export { encodeSelfSigned, type SelfSigned } from './self-signed.ts';
export { type CertificateFacts, factsOf, type SubjectName } from './facts.ts';
export { encodeRequest, idOf, type Pair, readResponse, type Statement } from './ocsp.ts';
export { encodeSigningRequest, type SigningRequest } from './signing-request.ts';
