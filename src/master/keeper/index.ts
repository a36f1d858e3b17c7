export { Keeper, type Left } from './keeper.ts';
