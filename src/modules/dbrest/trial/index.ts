export { liveFacts } from './live-facts.ts';
export { maskedValues, type Masking } from './masking.ts';
export { openTrials } from './open-trials.ts';
export { doesOf } from './wording.ts';
