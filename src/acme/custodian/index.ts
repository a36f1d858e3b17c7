export { type Custodian, type CustodianTurn, custodianZone, openCustodian } from './custodian.ts';
export { allianceZone, ClusterAlliance } from './cluster-alliance.ts';
export { IssuerState } from './issuer-state.ts';
export { isPauseOn, nextOrderMs, renewalMs } from './schedule.ts';
export { StateFiles } from './state-files.ts';
