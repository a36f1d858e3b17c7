export { Catalogue } from './catalogue.ts';
export { checkedConfig } from './checked-config.ts';
export type { Finding, SuppressedFinding } from './finding.ts';
export { liveFindings } from './live.ts';
export * from './output/index.ts';
export { mendableAtOnce, mended, type Mendable } from './edits.ts';
export { review, type Review, type ReviewOptions } from './review.ts';
export { contextOf, FRAGMENT_CONTEXTS, innermost, judgesFragments, wholeAround } from './fragment.ts';
