/** Packages with native code, which no bundle can contain: every installation has them as packages. */
export const NATIVE = ['uWebSockets.js', 'uWebSockets.js-node24', 'lmdb', '@node-rs/bcrypt'];
