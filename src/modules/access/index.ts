import { directivesFor, readers } from '../../config/index.ts';
import type { ArgReader } from '../../config/index.ts';
import { moduleFor } from '../../contract/index.ts';
import type { Build } from '../../contract/index.ts';
import { logContext } from '../../http/index.ts';
import type { AccessCheck } from '../../http/index.ts';
import { isAllowed } from './rule.ts';
import type { AccessRule } from './rule.ts';

interface AccessConfig {
  readonly rules?: readonly AccessRule[];
}

const rule = (allows: boolean): ArgReader<AccessRule> =>
  readers.oneWord('address | CIDR | unix: | all', (word, scope) => {
    if (word.value === 'all') return { allows, who: 'all' };
    if (word.value === 'unix:') return { allows, who: 'unix' };
    const who = readers.readCidr(word, scope);
    return who && { allows, who };
  });

const directives = directivesFor<AccessConfig>()({
  allow: {
    contexts: ['http', 'server', 'location'],
    args: rule(true),
    into: 'rules',
    repeat: 'append',
    summary: 'Lets a network in; the first rule that fits decides.',
    source: 'nginx ngx_http_access_module#allow',
  },
  deny: {
    contexts: ['http', 'server', 'location'],
    args: rule(false),
    into: 'rules',
    repeat: 'append',
    summary: 'Keeps a network out with 403; the first rule that fits decides.',
    source: 'nginx ngx_http_access_module#deny',
  },
});

/** Access by the client's address. As in nginx, `return` answers before anybody is asked. */
export const access = moduleFor<AccessConfig>()({
  name: 'access',
  directives,
  enabled: ({ rules }) => rules !== undefined,
  guards: ({ rules = [] }) => rules.some(({ allows }) => !allows),
  compile: ({ rules = [] }, _resources, build) => ({ access: compileAccess(rules, build) }),
});

function compileAccess(rules: readonly AccessRule[], build: Build): AccessCheck {
  build.needPeer();
  return (x) => {
    if (isAllowed(rules, x.remoteAddress)) return 'allowed';
    build.log.write('error', 'access forbidden by rule', logContext(x));
    return { status: 403 };
  };
}
