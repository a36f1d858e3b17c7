import type { BlockView } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';
import { isPublic, serverOf } from '../../exposure.ts';
import { isLocal } from '../../addresses.ts';
import type { CheckedConfig, Problem, Rule } from '../../rule.ts';

export const controlNoTls: Rule = {
  id: 'GW812',
  slug: 'control-no-tls',
  severity: 'warning',
  summary: 'operators call the control surface over plain HTTP from other machines',
  why: 'Passwords and what the gateway tells of itself can be read on the way, and answers can be changed.',
  fix: 'Add "ssl" to the listen, or listen on a loopback address and come in by SSH.',
  bad: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
server { listen 80; location /runtime/ { allow 10.0.0.0/8; deny all; control_api; } }`,
  },
  good: {
    in: 'http',
    text: `shared_dict_zone zone=feature_flags:1m;
server { listen 80; location /runtime/ { allow 127.0.0.1; deny all; control_api; } }`,
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    const control = config.modules.find(({ name }) => name === 'control');
    for (const { node, block } of config.uses('control_api', 'control_console')) {
      if (!control?.sensitive?.(block.config('control')) || isGuardedTo(block) !== 'others') continue;
      const plain = plainListen(block);
      if (!plain) continue;
      yield {
        at: node,
        message: `"${node.name.value}" is called over plain HTTP from other machines`,
        hint: 'add "ssl" to the listen directive',
      };
    }
  },
};

/** Whom a guard lets in: nobody's guard is another rule's affair. */
function isGuardedTo(block: BlockView): 'others' | 'here' | undefined {
  const asked = block.effective('auth_basic', 'auth_request').filter(({ args }) => args[0]?.value !== 'off');
  const allowed = block.effective('allow').map(({ args }) => args[0]?.value ?? '');
  if (allowed.length > 0) return allowed.every((who) => who === 'unix:' || isLocal(who)) ? 'here' : 'others';
  return asked.length > 0 ? 'others' : undefined;
}

function plainListen(block: BlockView): boolean {
  const server = serverOf(block);
  if (!server || !isPublic(block)) return false;
  const { listens = [] } = server.config('core') as unknown as CoreConfig;
  return (
    listens.length === 0 ||
    listens.some(({ address, ssl }) => !ssl && address.kind === 'inet' && !isLocal(address.host))
  );
}
