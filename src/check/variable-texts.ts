import type { DirectiveNode } from '../../grammar/index.ts';
import type { CheckedConfig } from './rule.ts';

const REFERENCE = /(\$\{?\w+\}?)/;
/** `default` is a line like the others; these say something else. */
const NO_VALUES = new Set('hostnames volatile ranges include delete proxy proxy_recursive'.split(' '));
/** What built-in variables are as far as an address goes. */
const BUILT_IN: Readonly<Record<string, readonly string[]>> = {
  scheme: ['http', 'https'],
  server_addr: ['127.0.0.1'],
  remote_addr: ['127.0.0.1'],
  server_port: ['80'],
};
const MAX_TEXTS = 64;
const MAX_DEPTH = 5;

/** Every text that a value with variables can have, where the configuration itself names them all; else `undefined`. */
export function textsOf(config: CheckedConfig, value: string, depth = 0): readonly string[] | undefined {
  let texts: readonly string[] = [''];
  for (const piece of value.split(REFERENCE)) {
    const name = /^\$\{?(\w+)\}?$/.exec(piece)?.[1]?.toLowerCase();
    const added = name === undefined ? [piece] : valuesOf(config, name, depth);
    if (!added || texts.length * added.length > MAX_TEXTS) return undefined;
    texts = texts.flatMap((text) => added.map((more) => text + more));
  }
  return texts;
}

function valuesOf(config: CheckedConfig, name: string, depth: number): readonly string[] | undefined {
  const known = BUILT_IN[name];
  if (known) return known;
  const written = config
    .uses('set', 'map', 'geo', 'split_clients', 'auth_request_set')
    .filter(({ node }) => definedBy(node) === name)
    .flatMap(({ node }) => valuesIn(node));
  if (written.length === 0 || depth === MAX_DEPTH) return undefined;
  const all = written.map((value) => textsOf(config, value, depth + 1));
  return all.some((texts) => !texts) ? undefined : [...new Set(all.flatMap((texts) => texts ?? []))];
}

function definedBy({ name, args }: DirectiveNode): string | undefined {
  const word = name.value.endsWith('set') ? args[0] : args.at(-1);
  return word?.value.replace(/^\$/, '').toLowerCase();
}

function valuesIn({ name, args, block }: DirectiveNode): readonly string[] {
  if (!block) return name.value === 'set' ? [args[1]?.value ?? ''] : ['$upstream'];
  return block.flatMap((line) => (NO_VALUES.has(line.name.value) ? [] : [line.args[0]?.value ?? '']));
}
