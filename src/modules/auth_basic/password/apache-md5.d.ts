/** The package exports `module.exports`; its own declarations wrongly say `export default`. */
declare module 'apache-md5' {
  /** Computes MD5-crypt of a text with one character per byte, under a setting `$1$salt$…` or `$apr1$salt$…`. */
  function md5Crypt(password: string, setting: string): string;
  export = md5Crypt;
}
