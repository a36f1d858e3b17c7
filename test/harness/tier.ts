/** True in a run of the long tier (`npm run test:long`). */
export const IS_LONG = process.env['GW_TEST_LONG'] === '1';

/** Chooses how often, or with how much, a test repeats: `long` in the long tier, else `short`. */
export function perTier<T>({ short, long }: { readonly short: T; readonly long: T }): T {
  return IS_LONG ? long : short;
}
