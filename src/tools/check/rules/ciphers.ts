import { type DirectiveNode, lengthened, type Word } from '../../../../grammar/index.ts';
import type { CheckedConfig, Problem, Rule } from '../../../contract/index.ts';
import { heldBy, tlsServers } from '../servers.ts';
import { SHOP } from './certificates.ts';

/** Returns the names of a directive about connections to peers. */
const ofPeers = (name: string): readonly string[] =>
  ['proxy', 'grpc', 'uwsgi', 'kv'].map((prefix) => `${prefix}_${name}`);

const WEAK_PROTOCOLS = /^(?:SSLv[23]|TLSv1(?:\.1)?)$/i;

const weakProtocols: Rule = {
  id: 'GW501',
  slug: 'weak-protocols',
  severity: 'error',
  summary: 'a server speaks TLS older than 1.2',
  why: 'SSL and TLS 1.0 and 1.1 are broken and forbidden (RFC 8996); every client of the last ten years speaks TLS 1.2.',
  fix: 'Write "ssl_protocols TLSv1.2 TLSv1.3;".',
  bad: { text: `${SHOP.text}\nssl_protocols TLSv1.1 TLSv1.2 TLSv1.3;`, files: SHOP.files },
  good: { text: `${SHOP.text}\nssl_protocols TLSv1.2 TLSv1.3;`, files: SHOP.files },
  *check(config: CheckedConfig): Iterable<Problem> {
    // A default for all servers has no effect if none of them uses TLS.
    for (const node of heldBy(tlsServers(config), 'ssl_protocols')) yield* protocolProblems(node);
    for (const { node } of config.uses(...ofPeers('ssl_protocols'))) yield* protocolProblems(node);
  },
};

function* protocolProblems(node: DirectiveNode): Generator<Problem> {
  const weak = node.args.filter(({ value }) => WEAK_PROTOCOLS.test(value));
  const [first, last] = [node.args[0], node.args.at(-1)];
  if (weak.length === 0 || !first || !last) return;
  const strong = node.args.filter((word) => !weak.includes(word)).map(({ value }) => value);
  const text = (strong.length > 0 ? strong : ['TLSv1.2', 'TLSv1.3']).join(' ');
  yield {
    at: node,
    message: `"${node.name.value}" allows ${weak.map(({ value }) => value).join(', ')}`,
    fix: {
      title: `replace them with "${text}": old clients are then refused`,
      safe: false,
      edits: [{ span: { ...first.span, end: last.span.end }, text }],
    },
  };
}

/** Weak cipher suites, with the words that select them in OpenSSL's lists. */
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
const WEAK_SUITES = SUITES.map(([weakness, words]) => ({ weakness, words: new Set(words.split(' ')) }));

/** Words for which OpenSSL leaves out weak ciphers itself, or that never included any. */
const HARMLESS = new Set(
  'HIGH DEFAULT AES AES128 AES256 AESGCM SHA SHA1 SHA256 SHA384 kRSA RSA aRSA kDHE kEDH DH DHE EDH kECDHE kEECDH ECDH ECDHE EECDH aECDSA ECDSA'.split(
    ' ',
  ),
);

/**
 * The weak ciphers in a list, as words that exclude them (`!RC4`). Follows OpenSSL's ciphers(1): `+` between words
 * means "and", `!` excludes for good, `-` until the word is added again. Ciphers that the list names count.
 */
export function weaknessesOf(list: string): readonly string[] {
  const chosen = new Set<(typeof WEAK_SUITES)[number]>();
  const killed = new Set<(typeof WEAK_SUITES)[number]>();
  for (const item of list.split(/[\s:,;]+/)) {
    const [, sign = '', text = ''] = /^([!+-]?)(.*)$/.exec(item) ?? [];
    const words = text.split('+');
    if (text === '' || text.startsWith('@') || sign === '+') continue;
    if (sign === '' && words.every((word) => HARMLESS.has(word))) continue;
    for (const suite of WEAK_SUITES.filter((one) => words.every((word) => one.words.has(word)))) {
      if (sign === '!') killed.add(suite);
      if (sign === '' && !killed.has(suite)) chosen.add(suite);
      else chosen.delete(suite);
    }
  }
  return [...new Set([...chosen].map(({ weakness }) => weakness))];
}

const weakCiphers: Rule = {
  id: 'GW502',
  slug: 'weak-ciphers',
  severity: 'error',
  summary: 'a list of ciphers that includes weak ones',
  why: 'An attacker on the network path can make both sides choose the weakest cipher that they share: no encryption (eNULL), no authentication (aNULL), or one that can be broken (RC4, DES, 3DES, EXPORT).',
  fix: 'Remove "ssl_ciphers", or exclude the weak ones with "!aNULL:!eNULL:!RC4:!3DES:!DES:!EXPORT".',
  bad: { text: `${SHOP.text}\nssl_ciphers HIGH:RC4-SHA:!aNULL;`, files: SHOP.files },
  good: { text: `${SHOP.text}\nssl_ciphers HIGH:!aNULL:!MD5;`, files: SHOP.files },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const node of heldBy(tlsServers(config), 'ssl_ciphers')) yield* cipherProblems(node, node.args[0]);
    for (const { node } of config.uses(...ofPeers('ssl_ciphers'))) yield* cipherProblems(node, node.args[0]);
    for (const { node } of config.uses('ssl_conf_command', ...ofPeers('ssl_conf_command'))) {
      if (node.args[0]?.value.toLowerCase() === 'cipherstring') yield* cipherProblems(node, node.args[1]);
    }
  },
};

function* cipherProblems({ name }: DirectiveNode, list: Word | undefined): Generator<Problem> {
  const weak = list ? weaknessesOf(list.value) : [];
  if (!list || weak.length === 0) return;
  const text = weak.map((weakness) => `:!${weakness}`).join('');
  yield {
    at: list.span,
    message: `"${name.value}" has weak ciphers: ${weak.join(', ')}`,
    fix: {
      title: `end the list with "${text}": clients that support nothing else are then refused`,
      safe: false,
      edits: [lengthened(list, text)],
    },
  };
}

/** The rules about protocols and ciphers of TLS. */
export const CIPHER_RULES: readonly Rule[] = [weakProtocols, weakCiphers];
