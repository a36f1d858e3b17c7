import type { LocationView, ServerView } from '../../src/contract/index.ts';
import { combined, effective, routes } from '../../src/lookups.ts';
import { loadConfig } from '../load-config.ts';
import type { ConfigOptions } from '../load-config.ts';
import { columns, visible } from '../terminal-text.ts';

/** Options of `gw dump config` and `gw dump routes`. */
export interface DumpOptions extends ConfigOptions {
  readonly json?: boolean;
}

/** `gw dump config`: the configuration as one text, or what holds in each of its blocks. 1: it is refused. */
export function dumpConfig({ json, ...options }: DumpOptions): number {
  const loaded = loadConfig(options);
  if (!loaded) return 1;
  const { tree, bound, plan } = loaded;
  const { prefix, confFile } = plan.main;
  const files = tree.sources.map(({ name }) => name);
  if (json === true) writeJson({ file: confFile, prefix, files, main: effective(bound, tree) });
  else process.stdout.write(combined(tree));
  return 0;
}

/** `gw dump routes`: each server with its locations in the order in which they are asked. 1: it is refused. */
export function dumpRoutes({ json, ...options }: DumpOptions): number {
  const loaded = loadConfig(options);
  if (!loaded) return 1;
  const servers = routes(loaded.plan);
  if (json === true) writeJson(servers);
  else {
    const rows = servers.flatMap((server) => locationRows(server.root, server, 0));
    process.stdout.write(columns([['LISTEN', 'SERVER', 'LOCATION', 'ANSWERED BY', 'PLACE'], ...rows]));
  }
  return 0;
}

function locationRows(
  location: LocationView,
  server: ServerView,
  depth: number,
): readonly (readonly string[])[] {
  const { text, kind, answeredBy, internal, place, locations } = location;
  const listens = server.listens.map(({ address, isDefault }) => address + (isDefault ? ' (default)' : ''));
  const marks = internal ? ' (internal)' : '';
  const isServer = kind === 'server';
  // A server level that only holds locations answers what none of them takes.
  const answer = answeredBy ?? (isServer && locations.length > 0 ? '' : 'files');
  return [
    [
      isServer ? listens.join(' ') : '',
      isServer ? visible(server.names.join(' ') || '""') : '',
      visible(`${'  '.repeat(Math.max(depth - 1, 0))}${text}`) + marks,
      answer,
      visible(place),
    ],
    ...locations.flatMap((inner) => locationRows(inner, server, depth + 1)),
  ];
}

function writeJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}
