export { provision } from './explanation.ts';
export { openTrials } from './trial.ts';
