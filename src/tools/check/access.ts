import type { DirectiveNode } from '../../../grammar/index.ts';
import { type BlockView, oncePer } from '../../config/index.ts';
import { ASKING_WHO, configOf } from '../../contract/index.ts';

/** True for `satisfy any`: one successful check is enough. */
export function isAnyEnough(block: BlockView): boolean {
  return configOf(block.level, 'core').satisfy === 'any';
}

/** True for an `allow` or `deny` that applies to all clients. */
export function isForAll({ args }: DirectiveNode): boolean {
  return args[0]?.value === 'all';
}

/** The directives that serve a block's requests, including those of modules that only nginx has. */
const CONTENT = [
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

/** True if no client gets content from this block: it denies, refuses or is internal. */
export function refuses(block: BlockView): boolean {
  if (block.own('internal').length > 0) return true;
  if (block.own('return').some(isRefusal)) return true;
  const access = block.effective('allow', 'deny');
  return access.length > 0 && access.every((node) => node.name.value === 'deny' && isForAll(node));
}

/** The directive in a block itself that serves its requests differently from the enclosing block. */
export const ownContent = oncePer((block: BlockView): DirectiveNode | undefined => block.own(...CONTENT)[0]);

/** The directive that serves a block, its own or inherited. */
export const contentOf = oncePer(
  (block: BlockView): DirectiveNode | undefined => ownContent(block) ?? block.effective('root', 'alias')[0],
);

/** The directive in a block itself that restricts access further than the enclosing block. */
export const ownGuard = oncePer((block: BlockView): DirectiveNode | undefined => {
  const guards = block.own('deny', ...ASKING_WHO, 'internal', 'return');
  return guards.find((node) =>
    node.name.value === 'return' ? isRefusal(node) : node.args[0]?.value !== 'off',
  );
});

/** True for a `return` with the status of a refusal. */
export function isRefusal({ args }: DirectiveNode): boolean {
  return /^4\d\d$/.test(args[0]?.value ?? '');
}

/** Returns whether two directives have the same words. */
export function isSame(one: DirectiveNode | undefined, other: DirectiveNode | undefined): boolean {
  return one !== undefined && other !== undefined && textOf(one) === textOf(other);
}

function textOf({ name, args }: DirectiveNode): string {
  return [name, ...args].map(({ value }) => value).join(' ');
}
