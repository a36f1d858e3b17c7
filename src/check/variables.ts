import type { DirectiveNode } from '../../grammar/index.ts';
import { oncePer } from '../config/index.ts';
import { type CheckedConfig, UNKNOWN } from '../contract/index.ts';

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

/** The possible texts of a value with variables, as far as the configuration defines them. */
export function textsOf(config: CheckedConfig, value: string, depth = 0): readonly string[] {
  let texts: readonly string[] = [''];
  for (const piece of value.split(VARIABLE)) {
    const name = /^\$\{?(\w+)\}?$/.exec(piece)?.[1]?.toLowerCase();
    const added = name === undefined ? [piece] : valuesOf(config, name, depth);
    if (texts.length * added.length > MAX_TEXTS) return [UNKNOWN];
    texts = texts.flatMap((text) => added.map((more) => text + more));
  }
  return texts;
}

function valuesOf(config: CheckedConfig, name: string, depth: number): readonly string[] {
  const known = BUILT_IN.get(name);
  if (known) return known;
  const written = valuesByName(config).get(name);
  if (!written || depth === MAX_DEPTH) return [UNKNOWN];
  return [...new Set([...written].flatMap((value) => textsOf(config, value, depth + 1)))];
}

/** The values that the configuration gives each variable, as written. */
const valuesByName = oncePer((config: CheckedConfig) => {
  const found = new Map<string, Set<string>>();
  for (const { node } of config.uses('set', 'map', 'geo', 'split_clients', 'auth_request_set')) {
    const name = definedBy(node);
    if (name === undefined) continue;
    const values = found.get(name) ?? new Set();
    found.set(name, values);
    for (const value of valuesIn(node)) values.add(value);
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
