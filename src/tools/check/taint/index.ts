export type { Alternative, ClientSource } from './constraints.ts';
export { Taints } from './taints.ts';
