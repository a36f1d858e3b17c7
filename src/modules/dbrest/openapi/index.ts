export { writeDocument } from './document.ts';
export type { ApiFacts } from './document.ts';
