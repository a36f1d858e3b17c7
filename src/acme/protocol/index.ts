export { type AcmeClient, openAcmeClient } from './client.ts';
export { AcmeFault } from './fault.ts';
export { connectionFault } from './requests.ts';
