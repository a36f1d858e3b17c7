import type { DirectiveNode } from '../../grammar/index.ts';
import { type BlockView, contains, type Network, oncePer, parseNetwork } from '../config/index.ts';
import { configOf } from '../contract/index.ts';

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
  return configOf(block.level, 'core').satisfy === 'any';
}

/** Where a request of a block is answered from; directives of modules that only nginx has count as well. */
const ANSWERS = [
  'alias',
  'root',
  'proxy_pass',
  'fastcgi_pass',
  'uwsgi_pass',
  'scgi_pass',
  'grpc_pass',
  'memcached_pass',
  'dbrest_pass',
  'kv_pass',
];

/** Nobody gets anything from this block: it denies, refuses or is internal. */
export function refuses(block: BlockView): boolean {
  if (block.own('internal').length > 0) return true;
  if (block.own('return').some(isRefusal)) return true;
  const access = accessIn(block);
  return access.length > 0 && access.every(({ allows, who }) => !allows && who === 'all');
}

/** The directive by which a block itself answers differently from what is around it. */
export const ownAnswer = oncePer((block: BlockView): DirectiveNode | undefined => block.own(...ANSWERS)[0]);

/** What answers in a block, be it the files of a block around it. */
export const answerOf = oncePer(
  (block: BlockView): DirectiveNode | undefined => ownAnswer(block) ?? block.effective('root', 'alias')[0],
);

/** The directive by which a block itself lets fewer people in than what is around it. */
export const ownGuard = oncePer((block: BlockView): DirectiveNode | undefined => {
  const guards = block.own('deny', 'auth_basic', 'auth_request', 'internal', 'return');
  return guards.find((node) =>
    node.name.value === 'return' ? isRefusal(node) : node.args[0]?.value !== 'off',
  );
});

/** `return` with a status that says no. */
export function isRefusal({ args }: DirectiveNode): boolean {
  return /^4\d\d$/.test(args[0]?.value ?? '');
}

/** Whether two directives say the same. */
export function isSame(one: DirectiveNode | undefined, other: DirectiveNode | undefined): boolean {
  return one !== undefined && other !== undefined && textOf(one) === textOf(other);
}

function textOf({ name, args }: DirectiveNode): string {
  return [name, ...args].map(({ value }) => value).join(' ');
}
