export { type Custodian, type CustodianTurn, custodianZone, openCustodian } from './custodian.ts';
export { allianceZone, ClusterAlliance } from './cluster-alliance.ts';
