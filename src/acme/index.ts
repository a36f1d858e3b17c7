export {
  ACME_KEY_KINDS,
  type AcmeCertificate,
  type AcmeIdentifier,
  type AcmeIssuer,
  type AcmeKeyKind,
  type AcmePlan,
  certificateId,
  type ChallengeType,
  type OnDemandRules,
  USUAL_KEY,
} from './plan.ts';
export {
  type CertificatePair,
  certificatesZone,
  certificatesZoneName,
  SharedCertificates,
  SharedMemoryFault,
} from './shared-certificates.ts';
export {
  allianceZone,
  ClusterAlliance,
  type Custodian,
  type CustodianTurn,
  custodianZone,
  isPauseOn,
  IssuerState,
  nextOrderMs,
  openCustodian,
  renewalMs,
  StateFiles,
} from './custodian/index.ts';
export { SparseLines } from './sparse-lines.ts';
export { type ChainFacts, readChain } from './certificates/index.ts';
export { connectionFault, openAcmeClient } from './protocol/index.ts';
