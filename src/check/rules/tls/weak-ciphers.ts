import type { DirectiveNode, Word } from '../../../../grammar/index.ts';
import { lengthened } from '../../edits.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { heldBy, tlsServers } from '../../tls-servers.ts';
import { weaknessesOf } from '../../weak-suites.ts';
import { SHOP } from './shop.ts';

export const weakCiphers: Rule = {
  id: 'GW502',
  slug: 'weak-ciphers',
  severity: 'error',
  summary: 'a list of ciphers with some that protect nothing, or too little',
  why: 'An attacker on the way makes both sides choose the weakest cipher that they share: no encryption (eNULL), nobody proven (aNULL), or one that can be broken (RC4, DES, 3DES, EXPORT).',
  fix: 'Leave "ssl_ciphers" out, or take them from the list with "!aNULL:!eNULL:!RC4:!3DES:!DES:!EXPORT".',
  bad: { text: `${SHOP.text}\nssl_ciphers HIGH:RC4-SHA:!aNULL;`, files: SHOP.files },
  good: { text: `${SHOP.text}\nssl_ciphers HIGH:!aNULL:!MD5;`, files: SHOP.files },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const node of heldBy(tlsServers(config), 'ssl_ciphers')) yield* problemsOf(node, node.args[0]);
    for (const { node } of config.uses('proxy_ssl_ciphers')) yield* problemsOf(node, node.args[0]);
    for (const { node } of config.uses('ssl_conf_command', 'proxy_ssl_conf_command')) {
      if (node.args[0]?.value.toLowerCase() === 'cipherstring') yield* problemsOf(node, node.args[1]);
    }
  },
};

function* problemsOf({ name }: DirectiveNode, list: Word | undefined): Generator<Problem> {
  const weak = list ? weaknessesOf(list.value) : [];
  if (!list || weak.length === 0) return;
  const text = weak.map((weakness) => `:!${weakness}`).join('');
  yield {
    at: list.span,
    message: `"${name.value}" has weak ciphers: ${weak.join(', ')}`,
    fix: {
      title: `end the list with "${text}": clients that speak nothing else are refused then`,
      safe: false,
      edits: [lengthened(list, text)],
    },
  };
}
