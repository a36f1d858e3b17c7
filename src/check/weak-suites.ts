/** Cipher suites that protect nothing, or too little, with the words that OpenSSL's lists choose them by. */
const SUITES: readonly (readonly [weakness: string, words: string])[] = [
  ['aNULL', 'ADH-AES256-GCM-SHA384 ADH kDHE kEDH DH aNULL AES AES256 AESGCM SHA384 ALL COMPLEMENTOFDEFAULT'],
  ['aNULL', 'ADH-AES128-SHA ADH kDHE kEDH DH aNULL AES AES128 SHA SHA1 ALL COMPLEMENTOFDEFAULT'],
  ['aNULL', 'AECDH-AES256-SHA AECDH kECDHE kEECDH ECDH aNULL AES AES256 SHA SHA1 ALL COMPLEMENTOFDEFAULT'],
  ['eNULL', 'NULL-SHA256 eNULL NULL kRSA RSA aRSA SHA256 COMPLEMENTOFALL'],
  ['eNULL', 'NULL-SHA eNULL NULL kRSA RSA aRSA SHA SHA1 COMPLEMENTOFALL'],
  ['eNULL', 'ECDHE-RSA-NULL-SHA eNULL NULL ECDHE EECDH kECDHE kEECDH aRSA SHA SHA1 COMPLEMENTOFALL'],
  ['RC4', 'RC4-SHA RC4 kRSA RSA aRSA SHA SHA1 MEDIUM ALL'],
  ['RC4', 'RC4-MD5 RC4 kRSA RSA aRSA MD5 MEDIUM ALL'],
  ['RC4', 'ECDHE-RSA-RC4-SHA RC4 ECDHE EECDH kECDHE kEECDH ECDH aRSA SHA SHA1 MEDIUM ALL'],
  ['RC4', 'ECDHE-ECDSA-RC4-SHA RC4 ECDHE EECDH kECDHE kEECDH ECDH aECDSA ECDSA SHA SHA1 MEDIUM ALL'],
  ['3DES', 'DES-CBC3-SHA 3DES kRSA RSA aRSA SHA SHA1 MEDIUM ALL'],
  ['3DES', 'ECDHE-RSA-DES-CBC3-SHA 3DES ECDHE EECDH kECDHE kEECDH ECDH aRSA SHA SHA1 MEDIUM ALL'],
  ['3DES', 'ECDHE-ECDSA-DES-CBC3-SHA 3DES ECDHE EECDH kECDHE kEECDH ECDH aECDSA ECDSA SHA SHA1 MEDIUM ALL'],
  ['3DES', 'EDH-RSA-DES-CBC3-SHA DHE-RSA-DES-CBC3-SHA 3DES DHE EDH kDHE kEDH DH aRSA SHA SHA1 MEDIUM ALL'],
  ['DES', 'DES-CBC-SHA DES kRSA RSA aRSA SHA SHA1 LOW ALL'],
  ['DES', 'EDH-RSA-DES-CBC-SHA DES DHE EDH kDHE kEDH DH aRSA SHA SHA1 LOW ALL'],
  ['EXPORT', 'EXP-RC4-MD5 EXPORT EXP EXPORT40 RC4 kRSA RSA aRSA MD5 ALL'],
  ['EXPORT', 'EXP-DES-CBC-SHA EXPORT EXP EXPORT40 DES kRSA RSA aRSA SHA SHA1 ALL'],
];
const WEAK = SUITES.map(([weakness, words]) => ({ weakness, words: new Set(words.split(' ')) }));

/** Words that choose so much that OpenSSL itself leaves the weak ones out nowadays, or never had them in. */
const HARMLESS = new Set(
  'HIGH DEFAULT AES AES128 AES256 AESGCM SHA SHA1 SHA256 SHA384 kRSA RSA aRSA kDHE kEDH DH DHE EDH kECDHE kEECDH ECDH ECDHE EECDH aECDSA ECDSA'.split(
    ' ',
  ),
);

/**
 * What is weak in a list of ciphers, in the words that take it out (`!RC4`). Follows OpenSSL's ciphers(1): `+` between
 * words is "and", `!` is for good, `-` until it is added again. What is weak counts where the list names it.
 */
export function weaknessesOf(list: string): readonly string[] {
  const chosen = new Set<(typeof WEAK)[number]>();
  const killed = new Set<(typeof WEAK)[number]>();
  for (const item of list.split(/[\s:,;]+/)) {
    const [, sign = '', text = ''] = /^([!+-]?)(.*)$/.exec(item) ?? [];
    const words = text.split('+');
    if (text === '' || text.startsWith('@') || sign === '+') continue;
    if (sign === '' && words.every((word) => HARMLESS.has(word))) continue;
    for (const suite of WEAK.filter((one) => words.every((word) => one.words.has(word)))) {
      if (sign === '!') killed.add(suite);
      if (sign === '' && !killed.has(suite)) chosen.add(suite);
      else chosen.delete(suite);
    }
  }
  return [...new Set([...chosen].map(({ weakness }) => weakness))];
}
