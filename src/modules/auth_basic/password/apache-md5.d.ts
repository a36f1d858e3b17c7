/** As the package is: its own declarations say `export default`, where it has `module.exports`. */
declare module 'apache-md5' {
  /** MD5-crypt: of text with one byte per character, under a setting `$1$salt$…` or `$apr1$salt$…`. */
  function md5Crypt(password: string, setting: string): string;
  export = md5Crypt;
}
