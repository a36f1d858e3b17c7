import { type ArgReader, directivesFor, type Network, readers } from '../../config/index.ts';

/** One `allow` or `deny`. */
export interface AccessRule {
  readonly allows: boolean;
  readonly who: 'all' | 'unix' | Network;
}

/** The `allow` and `deny` of one location. */
export interface AccessConfig {
  readonly rules?: readonly AccessRule[];
}

const CONTEXTS = ['http', 'server', 'location', 'limit_except'] as const;

const rule = (allows: boolean): ArgReader<AccessRule> =>
  readers.oneWord('address | CIDR | unix: | all', (word, scope) => {
    if (word.value === 'all') return { allows, who: 'all' };
    if (word.value === 'unix:') return { allows, who: 'unix' };
    const who = readers.readCidr(word, scope);
    return who && { allows, who };
  });

/** nginx's access module. */
export const directives = directivesFor<AccessConfig>()({
  allow: {
    contexts: CONTEXTS,
    args: rule(true),
    into: 'rules',
    repeat: 'append',
    summary: 'Allows requests from a network; the first rule that matches decides.',
    source: 'nginx ngx_http_access_module#allow',
  },
  deny: {
    contexts: CONTEXTS,
    args: rule(false),
    into: 'rules',
    repeat: 'append',
    summary: 'Refuses requests from a network with 403; the first rule that matches decides.',
    source: 'nginx ngx_http_access_module#deny',
  },
});
