/** How to keep strangers out of a location. */
export const KEEP_OUT =
  'add allow and deny, ask for a password, or listen on a loopback address or a Unix socket';
