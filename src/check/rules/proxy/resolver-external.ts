import { hostOf } from '../../addresses.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';
import { shown } from '../../shown.ts';

/** Name servers that serve the whole internet. */
const PUBLIC: readonly RegExp[] = [
  /^8\.8\.(?:8\.8|4\.4)$|^2001:4860:4860:/i,
  /^1\.(?:1\.1\.[1-3]|0\.0\.[1-3])$|^2606:4700:4700:/i,
  /^(?:9\.9\.9|149\.112\.112)\.\d+$|^2620:fe:/i,
  /^208\.67\.22[02]\.\d+$|^2620:119:/i,
  /^(?:94\.140\.1[45]|76\.76\.(?:2|10)|185\.228\.16[89]|64\.6\.6[45]|77\.88\.8|45\.90\.(?:28|30))\.\d+$/,
  /^(?:4\.2\.2\.[1-6]|223\.5\.5\.5|223\.6\.6\.6|119\.29\.29\.29|114\.114\.11[45]\.11[45])$/,
  /^(?:dns\.google|one\.one\.one\.one|dns\.quad9\.net)\.?$/i,
];

export const resolverExternal: Rule = {
  id: 'GW403',
  slug: 'resolver-external',
  severity: 'warning',
  summary: 'a public name server decides where requests go',
  why: 'Its answers come unprotected over the internet: who forges one gets the requests. It does not know internal names either.',
  fix: 'Ask a name server of your own network, or one on this machine.',
  bad: { text: 'resolver 8.8.8.8;' },
  good: { text: 'resolver 127.0.0.53;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('resolver')) {
      for (const word of node.args) {
        const host = hostOf(word.value);
        if (PUBLIC.some((servers) => servers.test(host)))
          yield { at: word.span, message: `"${shown(word, host)}" is a public name server` };
      }
    }
  },
};
