import { availableParallelism } from 'node:os';
import { type ConfigTree, type DirectiveNode, formatFaults, placeText } from '../grammar/index.ts';
import { directives } from '../src/tools/lookups.ts';
import { load } from '../src/pipeline.ts';
import { VERSION } from '../src/version.ts';
import { chosenSource } from './chosen-config.ts';
import { packageRoot } from './installation.ts';
import { sourceOf } from './options.ts';
import { columns, visible } from './terminal.ts';

/** Options of `gw environ`. */
export interface EnvironOptions {
  readonly config?: string;
  readonly prefix?: string;
  readonly json?: boolean;
}

/** A variable of the environment that gw or a configuration reads. */
interface Variable {
  readonly name: string;
  readonly isSet: boolean;
  /** Absent if it is not set, or masked because a configuration reads it and it may be a secret. */
  readonly value?: string;
  readonly uses: readonly Use[];
}

interface Use {
  /** Its purpose; in a configuration, the directive. */
  readonly by: string;
  /** `file:line`. */
  readonly place?: string;
  /** The default in `${env:NAME:-default}`; absent if it may be a secret. */
  readonly default?: string;
}

/** The variables that gw reads itself. */
const OWN: readonly { readonly name: string; readonly by: string; readonly isSecret?: true }[] = [
  { name: 'GW_JWT_SECRET', by: 'gw jwt', isSecret: true },
  { name: 'DATABASE_URL', by: 'gw demo, gw db', isSecret: true },
  { name: 'GW_DEMO_PORT', by: 'conf/demo.conf, set by gw demo' },
  { name: 'NO_COLOR', by: 'messages' },
  { name: 'FORCE_COLOR', by: 'messages' },
  { name: 'NODE_OPTIONS', by: 'Node.js' },
  { name: 'TZ', by: 'times in logs' },
];

/** `gw environ`: prints versions and the variables of the environment. Exit code 1: the configuration cannot be read. */
export function environ({ config, prefix, json }: EnvironOptions): number {
  const read = config === undefined ? [] : usesOf(config, prefix);
  if (!read) return 1;
  const variables = variablesOf(read);
  const facts = {
    gw: VERSION,
    node: process.versions.node,
    v8: process.versions.v8,
    openssl: process.versions.openssl,
    platform: `${process.platform} ${process.arch}`,
    processors: availableParallelism(),
    installation: packageRoot(),
    directory: process.cwd(),
    configuration: chosenSource({ confFile: config, prefix }).confFile,
  };
  if (json === true) process.stdout.write(`${JSON.stringify({ ...facts, variables }, undefined, 2)}\n`);
  else process.stdout.write(`${columns(Object.entries(facts).map(pair))}\n${variablesText(variables)}`);
  return 0;
}

function pair([name, value]: readonly [string, string | number]): readonly string[] {
  return [name, String(value)];
}

/** Returns the variables of gw, then those of the configuration in the order of their first use. */
function variablesOf(read: Iterable<readonly [string, Use]>): readonly Variable[] {
  const masked = new Set(OWN.flatMap(({ name, isSecret }) => (isSecret ? [name] : [])));
  const uses = new Map<string, readonly Use[]>(OWN.map(({ name, by }) => [name, [{ by }]]));
  for (const [name, use] of read) {
    masked.add(name);
    uses.set(name, [...(uses.get(name) ?? []), use]);
  }
  return Array.from(uses, ([name, all]) => {
    const value = process.env[name];
    const isShown = value !== undefined && !masked.has(name);
    return { name, isSet: value !== undefined, ...(isShown && { value }), uses: all };
  });
}

/** Returns the variables that a configuration reads; `undefined` if it cannot be read, after printing the reason. */
function usesOf(config: string, prefix: string | undefined): Iterable<readonly [string, Use]> | undefined {
  const source = sourceOf({ confFile: config, prefix });
  const { tree, report } = load({ ...source, name: config });
  if (!tree) {
    process.stderr.write(formatFaults(report, { program: 'gw', color: process.stderr.isTTY }));
    return undefined;
  }
  return usesIn(tree);
}

const REFERENCE = /\$\{env:(\w+)(?::-([^}]*))?\}/g;

/** Yields the uses of variables in the order of the text. */
function* usesIn(tree: ConfigTree): Generator<readonly [string, Use]> {
  const secret = new Set(directives().flatMap(({ name, secret: is }) => (is ? [name] : [])));
  const waiting: DirectiveNode[] = tree.directives.toReversed();
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    const by = node.name.value;
    const isSecret = secret.has(by);
    for (const { span } of [node.name, ...node.args]) {
      for (const [, name = '', fallback] of span.source.text
        .slice(span.start, span.end)
        .matchAll(REFERENCE)) {
        const shown = fallback !== undefined && !isSecret ? { default: fallback } : {};
        yield [name, { by, place: placeText(span), ...shown }];
      }
    }
    waiting.push(...(node.block ?? []).toReversed());
  }
}

function variablesText(variables: readonly Variable[]): string {
  const rows = variables.flatMap(({ name, isSet, value, uses }) =>
    uses.map(({ by, place, default: fallback }, nth) => [
      nth === 0 ? name : '',
      nth > 0 ? '' : isSet ? visible(value ?? '***') : 'not set',
      fallback ?? '',
      visible(place === undefined ? by : `${by} (${place})`),
    ]),
  );
  return columns([['VARIABLE', 'VALUE', 'DEFAULT', 'READ BY'], ...rows]);
}
