import { type DirectiveNode, lineBefore, lineBehind, removed } from '../../../grammar/index.ts';
import { type BlockView, contains } from '../../config/index.ts';
import { authIn, type CheckedModule, configOf, type ModuleRule, type Problem } from '../../contract/index.ts';
import type { AccessConfig, AccessRule } from './directives.ts';

/** One `allow` or `deny` with its directive. */
interface WrittenRule extends AccessRule {
  readonly node: DirectiveNode;
}

/** Returns the rules of a block in the order in which they are tried. */
function entriesIn(config: CheckedModule<AccessConfig>, block: BlockView): readonly WrittenRule[] {
  const nodes = config.nodesIn(block, 'rules');
  return (config.configIn(block).rules ?? []).flatMap((rule, index) => {
    const node = nodes[index];
    return node ? { ...rule, node } : [];
  });
}

const allowWithoutDeny: ModuleRule<AccessConfig> = {
  id: 'GW307',
  slug: 'allow-without-deny',
  severity: 'error',
  summary: '"allow" without any "deny" refuses nobody',
  why: 'A client that no rule matches is allowed, so a list of only "allow" allows all clients.',
  fix: 'End the list with "deny all".',
  bad: { in: 'location', text: 'allow 10.0.0.0/8;' },
  good: { in: 'location', text: 'allow 10.0.0.0/8;\ndeny all;' },
  *check(config): Iterable<Problem> {
    for (const block of config.blocksWith('allow')) {
      const entries = entriesIn(config, block);
      const [first] = entries;
      const last = entries.at(-1);
      if (!first || !last) continue;
      // "allow all" may be there to override a list of the outer level.
      if (entries.some(({ allows, who }) => !allows || who === 'all')) continue;
      // Clients that no rule matches still have to pass the other checks.
      if (configOf(block.level, 'core').satisfy === 'any' && asksForMore(block)) continue;
      yield {
        at: first.node,
        message: `"allow ${first.node.args[0]?.value}" without "deny all" refuses nobody`,
        fix: {
          title: 'add "deny all": all others then get 403',
          safe: false,
          edits: [lineBehind(last.node, 'deny all;')],
        },
      };
    }
  },
};

/** Tells whether the block also checks a password or a subrequest. */
function asksForMore(block: BlockView): boolean {
  return authIn(block).length > 0;
}

const aclOrder: ModuleRule<AccessConfig> = {
  id: 'GW309',
  slug: 'acl-order',
  severity: 'warning',
  summary: 'an "allow" or "deny" that an earlier one makes ineffective',
  why: 'The first matching rule decides, so a narrower rule after a wider one never applies.',
  fix: 'Put the narrower rule first.',
  bad: { in: 'location', text: 'allow all;\ndeny 192.0.2.7;' },
  good: { in: 'location', text: 'deny 192.0.2.7;\nallow all;' },
  *check(config): Iterable<Problem> {
    for (const block of config.blocksWith('allow', 'deny')) {
      const entries = entriesIn(config, block);
      for (const [index, entry] of entries.entries()) {
        const first = entries.slice(0, index).find((other) => covers(other.who, entry.who));
        // The same rule twice has no effect.
        if (first && first.allows !== entry.allows) yield orderFinding(entry, first);
      }
    }
  },
};

/** Tells whether `outer` matches every address that `inner` matches. */
function covers(outer: AccessRule['who'], inner: AccessRule['who']): boolean {
  if (outer === 'all' || inner === 'all') return outer === 'all';
  if (outer === 'unix' || inner === 'unix') return outer === inner;
  return outer.bits <= inner.bits && contains(outer, inner.bytes);
}

function orderFinding({ node }: WrittenRule, first: WrittenRule): Problem {
  const [later, earlier] = [node, first.node].map(textOf) as [string, string];
  return {
    at: node,
    message: `"${later}" after "${earlier}" never applies`,
    related: [{ span: first.node.span, label: 'decides first' }],
    fix: {
      title: `put "${later}" before "${earlier}"`,
      safe: false,
      edits: [lineBefore(first.node, `${later};`), removed(node)],
    },
  };
}

function textOf({ name, args }: DirectiveNode): string {
  return [name, ...args].map(({ value }) => value).join(' ');
}

const cidrHostBits: ModuleRule<AccessConfig> = {
  id: 'GW325',
  slug: 'cidr-host-bits',
  severity: 'warning',
  summary: 'a network whose address has bits outside of its mask',
  why: 'They are ignored: the network is larger than its address suggests.',
  fix: 'Write the first address of the network, or the mask of one address (/32, /128).',
  bad: { in: 'location', text: 'allow 10.0.0.5/8;\ndeny all;' },
  good: { in: 'location', text: 'allow 10.0.0.0/8;\ndeny all;' },
};

/** The rules about `allow` and `deny`. */
export const rules: readonly ModuleRule<AccessConfig>[] = [allowWithoutDeny, aclOrder, cidrHostBits];
