export { nameIn } from './definitions.ts';
export type { Alternative, Piece, Site, Source } from './site.ts';
export { Taints } from './taints.ts';
