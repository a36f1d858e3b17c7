import { createHash } from 'node:crypto';
import type { Variants } from './entry-head.ts';

/** The name by which an entry is found. */
export interface EntryName {
  /** The key as the configuration makes it; all variants of a response have the same key. */
  readonly key: string;
  /** Identifies a variant; '' if the key has no variants. */
  readonly variant: string;
  /** Determines the name of the file and the entry in the index. */
  readonly digest: Buffer;
}

/** Returns the values of a request that determine its variant. */
export type VariantOf = (names: readonly string[]) => string;

/** Returns the name of a key. */
export function nameOf(key: string): EntryName {
  return named(key, '');
}

/** Returns the name of one variant of a key. */
export function variantName(key: string, { names, epoch }: Variants, variantOf: VariantOf): EntryName {
  return named(key, `${epoch}\n${variantOf(names)}`);
}

/** Returns the name of an entry by its description. */
export function named(key: string, variant: string): EntryName {
  const digest = createHash('sha256')
    .update(variant === '' ? key : `${key}\n${variant}`)
    .digest();
  return { key, variant, digest: digest.subarray(0, 16) };
}
