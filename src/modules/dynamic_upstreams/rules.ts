import { resolve } from 'node:path';
import type { BlockView } from '../../config/index.ts';
import type { CheckedModule, ModuleRule, Problem } from '../../contract/index.ts';
import { type DynamicUpstreamsConfig, NEEDED, type SourceKind, sourceOf } from './directives.ts';

type GroupRule = ModuleRule<DynamicUpstreamsConfig>;

const GROUP = 'upstream app { server 127.0.0.1:8001; dynamic_upstreams_managed; }';

const upstreamApiOpen: GroupRule = {
  id: 'GW806',
  slug: 'upstream-api-open',
  severity: 'error',
  summary: 'peers that anyone can change',
  why: 'Anyone who finds the address can direct the requests of your clients, with their cookies, to another server.',
  fix: 'Listen on a loopback address, or restrict access with "allow" and "deny".',
  bad: {
    in: 'http',
    text: `${GROUP}
server {
  listen 80;
  location = /upstreams/app { dynamic_upstreams_api; dynamic_upstreams_target app; }
}`,
  },
  good: {
    in: 'http',
    text: `${GROUP}
server {
  listen 80;
  location = /upstreams/app {
    dynamic_upstreams_api;
    dynamic_upstreams_target app;
    allow 10.0.0.0/8;
    deny all;
  }
}`,
  },
  *check(config): Iterable<Problem> {
    for (const { node } of config.exposed('upstream-api-open')) {
      yield {
        at: node,
        message: '"dynamic_upstreams_api" lets anyone change the peers',
        hint: 'add "allow" and "deny", "auth_basic" or another access check',
      };
    }
  },
};

/** A location with the API. */
interface Api {
  readonly block: BlockView;
  readonly target: string;
  readonly source: SourceKind;
  readonly config: DynamicUpstreamsConfig;
}

/** Returns the locations with an API whose target exists. */
function apisOf(config: CheckedModule<DynamicUpstreamsConfig>): readonly Api[] {
  return [...config.blocksWith('dynamic_upstreams_api')].flatMap((block) => {
    const own = config.configIn(block);
    if (own.target === undefined || !config.upstream(own.target)) return [];
    return { block, target: own.target.toLowerCase(), source: sourceOf(own), config: own };
  });
}

/** An example: a managed group and the location of its API with more directives. */
const apiWith = (directives: string, group = GROUP): string => `${group}
server {
  listen 127.0.0.1:8080;
  location = /app { dynamic_upstreams_api; dynamic_upstreams_target app; ${directives} }
}`;

const managedUnreachable: GroupRule = {
  id: 'GW951',
  slug: 'managed-unreachable',
  severity: 'warning',
  summary: 'a managed upstream that nothing can change',
  why: 'Its peers come from the API or from a source, and both need a location with "dynamic_upstreams_api". Without one, the peers never change.',
  fix: 'Add a location with "dynamic_upstreams_api" and "dynamic_upstreams_target", or remove "dynamic_upstreams_managed".',
  bad: { in: 'http', text: GROUP },
  good: { in: 'http', text: apiWith('') },
  *check(config): Iterable<Problem> {
    const reached = new Set(apisOf(config).map(({ target }) => target));
    for (const block of config.blocks('upstream')) {
      const [at] = block.own('dynamic_upstreams_managed');
      if (!at || typeof block.args !== 'string' || reached.has(block.args.toLowerCase())) continue;
      yield {
        at,
        message: `no location has "dynamic_upstreams_target ${block.args}": nothing changes the peers`,
      };
    }
  },
};

/** Settings that require a managed group. */
const MANAGED_ONLY = ['source', 'sourceFile', 'journal', 'cluster'] as const;

const sourceUnmanaged: GroupRule = {
  id: 'GW952',
  slug: 'source-unmanaged',
  severity: 'warning',
  summary: 'a source or a journal for an upstream that is not managed',
  why: 'Without "dynamic_upstreams_managed", the peers are those of the block: the source is never read, and no journal is written.',
  fix: 'Add "dynamic_upstreams_managed" to the upstream.',
  bad: {
    in: 'http',
    text: apiWith(
      'dynamic_upstreams_source_file peers.json;',
      'upstream app { server 127.0.0.1:8001; server 127.0.0.1:8002; }',
    ),
  },
  good: { in: 'http', text: apiWith('dynamic_upstreams_source_file peers.json;') },
  *check(config): Iterable<Problem> {
    for (const { block, target } of apisOf(config)) {
      if ((config.upstream(target)?.own('dynamic_upstreams_managed').length ?? 0) > 0) continue;
      const [at] = MANAGED_ONLY.flatMap((field) => config.nodesIn(block, field));
      if (at) yield { at, message: `"${at.name.value}" has no effect: upstream "${target}" is not managed` };
    }
  },
};

const sourceUnused: GroupRule = {
  id: 'GW953',
  slug: 'source-unused',
  severity: 'warning',
  summary: 'settings of a source of peers that is not used',
  why: '"dynamic_upstreams_source" chooses the source; without it, the API is the only one. Settings of other sources have no effect.',
  fix: 'Choose the source: "dynamic_upstreams_source http;".',
  bad: { in: 'http', text: apiWith('dynamic_upstreams_http http://127.0.0.1:9000/peers;') },
  good: {
    in: 'http',
    text: apiWith('dynamic_upstreams_source http; dynamic_upstreams_http http://127.0.0.1:9000/peers;'),
  },
  *check(config): Iterable<Problem> {
    for (const { block, source } of apisOf(config)) {
      for (const [kind, [field]] of Object.entries(NEEDED)) {
        const [at] = kind === source ? [] : config.nodesIn(block, field);
        if (at)
          yield {
            at,
            message: `"${at.name.value}" has no effect: the source is "${source}"`,
            hint: `add "dynamic_upstreams_source ${kind}"`,
          };
      }
    }
  },
};

const twoSources: GroupRule = {
  id: 'GW954',
  slug: 'two-sources',
  severity: 'warning',
  summary: 'two sources for the peers of one upstream',
  why: 'Each refresh replaces the peers of one source by those of the other, so the peers keep changing.',
  fix: 'Keep one source. Other locations may show the upstream without a source.',
  bad: {
    in: 'http',
    text: `${GROUP}
server {
  listen 127.0.0.1:8080;
  location = /a { dynamic_upstreams_api; dynamic_upstreams_target app; dynamic_upstreams_source_file a.json; }
  location = /b { dynamic_upstreams_api; dynamic_upstreams_target app; dynamic_upstreams_source_file b.json; }
}`,
  },
  good: {
    in: 'http',
    text: `${GROUP}
server {
  listen 127.0.0.1:8080;
  location = /a { dynamic_upstreams_api; dynamic_upstreams_target app; dynamic_upstreams_source_file a.json; }
  location = /b { dynamic_upstreams_api; dynamic_upstreams_target app; }
}`,
  },
  *check(config): Iterable<Problem> {
    const known = new Map<string, string>();
    for (const { block, target, source, config: own } of apisOf(config)) {
      if (source === 'static') continue;
      const { sourceFile, dns, http, redis, consulAddress, consulService, consulTag, consulDatacenter } = own;
      const consul = [consulAddress, consulService, consulTag, consulDatacenter];
      const asked = { file: sourceFile, dns, http, redis, consul }[source];
      const text = JSON.stringify([source, asked]);
      const other = known.get(target);
      known.set(target, text);
      const [at] = [...config.nodesIn(block, 'source'), ...config.nodesIn(block, NEEDED[source][0])];
      if (at && other !== undefined && other !== text)
        yield { at, message: `upstream "${target}" already has another source` };
    }
  },
};

const journalShared: GroupRule = {
  id: 'GW955',
  slug: 'journal-shared',
  severity: 'error',
  summary: 'two upstreams with the same journal',
  why: 'Each change of one upstream overwrites the journal of the other, which then cannot be restored at a restart.',
  fix: 'Give each upstream a journal of its own.',
  bad: { in: 'http', text: journalsOf('peers.json', 'peers.json') },
  good: { in: 'http', text: journalsOf('a.json', 'b.json') },
  *check(config): Iterable<Problem> {
    const owners = new Map<string, string>();
    for (const { block, target, config: own } of apisOf(config)) {
      if (own.journal === undefined) continue;
      const path = resolve('/', own.journal);
      const owner = owners.get(path) ?? target;
      owners.set(path, owner);
      const [at] = config.nodesIn(block, 'journal');
      if (at && owner !== target)
        yield { at, message: `"${own.journal}" is also the journal of upstream "${owner}"` };
    }
  },
};

/** Returns an example with two groups with a journal each. */
function journalsOf(...paths: readonly string[]): string {
  const named = paths.map((path, nth) => ({ path, name: 'ab'[nth] ?? '' }));
  const groups = named.map(
    ({ name }) => `upstream ${name} { server 127.0.0.1:8001; dynamic_upstreams_managed; }`,
  );
  const locations = named.map(
    ({ name, path }) =>
      `  location = /${name} { dynamic_upstreams_api; dynamic_upstreams_target ${name}; dynamic_upstreams_journal ${path}; }`,
  );
  return `${groups.join('\n')}\nserver {\n  listen 127.0.0.1:8080;\n${locations.join('\n')}\n}`;
}

/** Directories that are emptied when the machine restarts. */
const TEMPORARY = /^\/(?:tmp|run|var\/run|dev\/shm)\//;

const journalTemporary: GroupRule = {
  id: 'GW956',
  slug: 'journal-temporary',
  severity: 'warning',
  summary: 'a journal in a directory that is emptied at a reboot',
  why: 'The journal keeps the peers for the next start, but this directory is empty after a reboot.',
  fix: 'Write it to a permanent directory: "/var/lib/gw/app.json".',
  bad: { in: 'http', text: apiWith('dynamic_upstreams_journal /tmp/app.json;') },
  good: { in: 'http', text: apiWith('dynamic_upstreams_journal state/app.json;') },
  *check(config): Iterable<Problem> {
    for (const { block, config: own } of apisOf(config)) {
      // A relative path is below the prefix.
      const path = own.journal?.startsWith('/') ? resolve(own.journal) : '';
      const [directory] = TEMPORARY.exec(path) ?? [];
      const [at] = config.nodesIn(block, 'journal');
      if (at && directory !== undefined)
        yield { at, message: `files in "${directory}" do not survive a reboot` };
    }
  },
};

/** The rules about groups whose peers change at run time. */
export const rules: readonly GroupRule[] = [
  upstreamApiOpen,
  managedUnreachable,
  sourceUnmanaged,
  sourceUnused,
  twoSources,
  journalShared,
  journalTemporary,
];
