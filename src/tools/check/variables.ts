import type { DirectiveNode } from '../../../grammar/index.ts';
import { type BlockView, oncePer } from '../../config/index.ts';
import { type CheckedConfig, UNKNOWN } from '../../contract/index.ts';

const VARIABLE = /(\$\{?\w+\}?)/;
/** Lines of a `map` or `geo` that are not values; `default` is one. */
const NO_VALUES = new Set('hostnames volatile ranges include delete proxy proxy_recursive'.split(' '));
/** Stands for an unknown name. */
const SOME_NAME = `${UNKNOWN}name`;
/** The texts of built-in variables in addresses. */
const BUILT_IN: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    scheme: ['http', 'https'],
    server_addr: ['127.0.0.1'],
    remote_addr: ['127.0.0.1'],
    server_port: ['80'],
    host: [SOME_NAME],
    http_host: [SOME_NAME],
    server_name: [SOME_NAME],
    ssl_server_name: [SOME_NAME],
  }),
);
const MAX_TEXTS = 64;
const MAX_DEPTH = 5;

/** A configuration, and the block in which a value stands. */
interface Scope {
  readonly config: CheckedConfig;
  readonly block: BlockView | undefined;
}

/** The possible texts of a value with variables, as far as the configuration defines them. */
export function textsOf(scope: Scope, value: string, depth = 0): readonly string[] {
  let texts: readonly string[] = [''];
  for (const piece of value.split(VARIABLE)) {
    const name = /^\$\{?(\w+)\}?$/.exec(piece)?.[1]?.toLowerCase();
    const added = name === undefined ? [piece] : valuesOf(scope, name, depth);
    if (texts.length * added.length > MAX_TEXTS) return [UNKNOWN];
    texts = texts.flatMap((text) => added.map((more) => text + more));
  }
  return texts;
}

function valuesOf(scope: Scope, name: string, depth: number): readonly string[] {
  const known = BUILT_IN.get(name);
  if (known) return known;
  const written = definitions(scope.config).get(name);
  if (!written || depth === MAX_DEPTH) return [UNKNOWN];
  const values = holding(written, scope.block).flatMap((definition) => definition.values);
  return [...new Set(values.flatMap((value) => textsOf(scope, value, depth + 1)))];
}

/** Values of a variable, and the block in which they are written. */
interface Definition {
  readonly values: readonly string[];
  readonly block: BlockView;
}

/** The definitions around a block, with those in its conditions; all of them if there is none. */
function holding(definitions: readonly Definition[], block: BlockView | undefined): readonly Definition[] {
  const around = new Set(block?.outward());
  const near = definitions.filter((definition) => around.has(unconditional(definition.block)));
  return near.length > 0 ? near : definitions;
}

/** The block itself, or the one around it that an `if` belongs to. */
function unconditional(block: BlockView): BlockView {
  return block.outer && / ?if\b/.test(block.context) ? unconditional(block.outer) : block;
}

/** The values that the configuration gives to each variable, as written. */
const definitions = oncePer((config: CheckedConfig) => {
  const found = new Map<string, Definition[]>();
  for (const { node, block } of config.uses('set', 'map', 'geo', 'split_clients', 'auth_request_set')) {
    const name = definedBy(node);
    if (name === undefined) continue;
    const list = found.get(name) ?? [];
    found.set(name, list);
    list.push({ values: valuesIn(node), block });
  }
  return found;
});

function definedBy({ name, args }: DirectiveNode): string | undefined {
  const word = name.value.endsWith('set') ? args[0] : args.at(-1);
  return word?.value.replace(/^\$/, '').toLowerCase();
}

function valuesIn({ name, args, block }: DirectiveNode): readonly string[] {
  if (!block) return name.value === 'set' ? [args[1]?.value ?? ''] : [UNKNOWN];
  return block.flatMap((line) => (NO_VALUES.has(line.name.value) ? [] : [line.args[0]?.value ?? '']));
}
