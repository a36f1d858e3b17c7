export { probeDatabase } from './probe.ts';
