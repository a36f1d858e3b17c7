/** Whether this run is the long tier (`npm run test:long`). */
export const IS_LONG = process.env['GW_TEST_LONG'] === '1';

/** How often, or with how much, a test repeats what can be repeated at will: before a release, and in every other run. */
export function perTier<T>({ short, long }: { readonly short: T; readonly long: T }): T {
  return IS_LONG ? long : short;
}
