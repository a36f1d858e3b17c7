export { faultOf } from './fault-of.ts';
export { sendFault, sendRows } from './send.ts';
