import type { DirectiveNode } from '../../grammar/index.ts';
import { contains, parseNetwork } from '../config/index.ts';
import type { BlockView, Network } from '../config/index.ts';

/** One `allow` or `deny` with the directive that says it. */
export interface AccessEntry {
  readonly node: DirectiveNode;
  readonly allows: boolean;
  readonly who: 'all' | 'unix' | Network;
}

/** The `allow` and `deny` that a block has itself, in the order in which they are tried. */
export function ownAccess(block: BlockView): readonly AccessEntry[] {
  return block.own('allow', 'deny').flatMap((node) => entryOf(node) ?? []);
}

/** Those that hold in a block. */
export function accessIn(block: BlockView): readonly AccessEntry[] {
  return block.effective('allow', 'deny').flatMap((node) => entryOf(node) ?? []);
}

function entryOf(node: DirectiveNode): AccessEntry | undefined {
  const value = node.args[0]?.value;
  if (value === undefined) return undefined;
  const who = value === 'all' ? value : value === 'unix:' ? 'unix' : parseNetwork(value)?.network;
  return who && { node, allows: node.name.value === 'allow', who };
}

/** Whether everybody whom `inner` fits is fitted by `outer`. */
export function covers(outer: AccessEntry['who'], inner: AccessEntry['who']): boolean {
  if (outer === 'all' || inner === 'all') return outer === 'all';
  if (outer === 'unix' || inner === 'unix') return outer === inner;
  return outer.bits <= inner.bits && contains(outer, inner.bytes);
}

/** The directives that ask for a name or a token, where they hold in a block and are not off. */
export function authIn(block: BlockView): readonly DirectiveNode[] {
  return block.effective('auth_basic', 'auth_request').filter(({ args }) => args[0]?.value !== 'off');
}

/** `satisfy any`: one check that lets in is enough. */
export function isAnyEnough(block: BlockView): boolean {
  return block.config('core')['satisfy'] === 'any';
}
